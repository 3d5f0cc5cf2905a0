"""Whether what the gate once said of a commit is about the checks that the base branch names now."""

from typing import TYPE_CHECKING

from bot.outbox.contract import GivenUpError
from bot.repo_config import policy_file, profiles
from ledger.log import event_store
from ledger.views import checks
from ledger.views.cards import CardRow
from rules.errors import PolicyError
from rules.runs.gate import CHECK

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext


def demand_same(hub: "Hub", context: "OutboxContext", card: CardRow, head: str) -> None:
    """Raise GivenUpError where the checks were edited since the gate saw `head`, or cannot be read."""
    with event_store.reading(context.engine) as db:
        seen = checks.definition_of(db, card.card_id, head)
    if not seen or card.pull_repository is None:
        return
    text, commit = policy_file.read(hub, card.pull_repository)
    try:
        now = profiles.rules_of(hub, card.pull_repository, text, commit).definition
    except PolicyError as error:
        raise GivenUpError(f"{policy_file.PATH} cannot be read: {error.problems[0]}") from error
    if now != seen:
        raise GivenUpError(f"the checks were changed on the base branch since it passed them. {CHECK}")
