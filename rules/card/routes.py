"""Where a card goes after its run, or after a review: the workflow's route, else the column's."""

from ledger.model.column_names import same_column
from ledger.rows.runs import RunRow
from rules.intents.outbound import MoveCard
from rules.policy.model import Policy
from rules.policy.stages import Outcome, find_routes
from rules.snapshot import Snapshot


def find_route(policy: Policy, run: RunRow, outcome: Outcome, *columns: str | None) -> str:
    """Return the column where a card goes; empty if it stays.

    The workflow of its run decides, else the first of `columns` whose policy has such a route.
    """
    rules = (policy.board.workflows.get(run.workflow), *map(policy.column, columns))
    given = (find_routes(it) for it in rules if it is not None)
    move = next((routes[outcome] for routes in given if outcome in routes), None)
    return move.move if move else ""


def plan_route(policy: Policy, snapshot: Snapshot, outcome: Outcome, about: str) -> MoveCard | None:
    """Return the move that the policy wants of a card whose newest run or review has that outcome.

    None if there is none, or the card is there already. Another move in the meantime overtakes it.
    """
    if snapshot.run is None:
        return None
    here = snapshot.column or ""
    target = find_route(policy, snapshot.run, outcome, here, snapshot.run.column)
    if not target or same_column(target, here):
        return None
    return MoveCard(snapshot.card_id, target, about, source=here)
