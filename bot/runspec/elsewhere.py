"""Other repositories that a run may say it needs work in."""

from functools import partial

from bot.bootstrap import Services
from bot.github.api import repositories, roles
from bot.github.client import Hub
from bot.state import policies as policies_in_force
from ledger.log import event_store
from ledger.views.cards import CardRow
from ledger.views.runs import RunRow
from rules.card.dependencies import may_name
from rules.policy.model import Policy
from runner.run.run_spec import INVESTIGATE


def offered_repositories(services: Services, run: RunRow, card: CardRow) -> tuple[str, ...]:
    """Return the other repositories of the board where whoever started the run has write access.

    The issues on both sides name each other, so a private repository is one only where the policy says so.
    """
    if run.mode == INVESTIGATE:
        return ()
    own = {run.repository, card.repository or run.repository}
    with event_store.reading(services.engine) as db:
        served = policies_in_force.other_repositories(db, card.board_id, services.board.owner, *own)
        policy = policies_in_force.in_force(db, card.board_id)
    may = partial(_may_be_named, services.hub, policy)
    if not served or not all(map(may, own)):
        return ()
    return tuple(name for name in served if may(name) and roles.writes(services.hub, name, run.by))


def _may_be_named(hub: Hub, policy: Policy, repository: str) -> bool:
    named = may_name(policy, open_to_readers=False)
    return named or repositories.is_public(hub, repository)
