"""A run beside the card's own was chosen: the card goes on as after a run of its own that succeeded."""

from datetime import datetime

from ledger.events.branch import RunChosen
from ledger.ids import CardId
from ledger.model.column_names import same_column
from rules.answers import answers
from rules.card.routes import plan_route
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, OpenPull, UpdateFace, UpdateTicker, WriteRunComment
from rules.policy.model import Policy
from rules.snapshot import Snapshot


@answers(RunChosen, changes_check=True)
def follow_choice(policy: Policy, snapshot: Snapshot, event: RunChosen, now: datetime) -> Decision:
    """Open the pull request of its branch, show the card's new run, and take the route of a success."""
    card, run = snapshot.card_id, snapshot.run
    if run is None or run.run_id != event.run_id:
        return Decision((), (f"another run was chosen since {event.run_id}",))
    shown = (WriteRunComment(card, run.run_id), UpdateFace(card), UpdateTicker(CardId(snapshot.board_id)))
    opened = Decision((OpenPull(card, run.run_id), *shown), (f"{event.by} chose {run.run_id}",))
    move = plan_route(policy, snapshot, "on_success", f"success:{run.run_id}")
    here = same_column(snapshot.column, run.column)
    onward = Decision((move,), (f"the policy moves it to {move.column}",)) if move and here else Decision()
    return opened + show_card() + onward
