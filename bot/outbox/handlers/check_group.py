"""Says on a commit of the merge queue what the gate saw of the pull request in it."""

from typing import TYPE_CHECKING

from bot.github.errors import RefusedError
from bot.outbox import gate_check, gate_definition
from bot.outbox.contract import ActResult, GivenUpError
from bot.outbox.targets import card_of, pull_of
from bot.render.pull import gate_check as gate
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views.cards import CardRow
from rules.intents.outbound import CheckGroup

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 0  # the whole queue waits for it
ORDERED = False
COALESCE = False
WAIT_S = 0.0


def key(intent: CheckGroup) -> EntryKey:
    """Return the key: one check for each commit of the queue."""
    return EntryKey(f"group:{intent.card_id}:{intent.head}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: CheckGroup, entry: Entry) -> ActResult:
    """Make the check run; a group that is gone meanwhile needs none."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
        seen = gate_check.seen_of(db, card, card.pull_head, context.config.public_url)
    pull = pull_of(card)
    if pull is None or pull.number != intent.number or card.pull_state != "open":
        return ActResult("", "")
    says = gate.of_group(seen, intent.number, _objection(hub, context, card))
    try:
        return gate_check.publish(
            hub, context, entry, repository=pull.repository, head=intent.head, says=says
        )
    except RefusedError as error:
        if "No commit found" in error.because:
            return ActResult("", "")
        raise


def _objection(hub: "Hub", context: "OutboxContext", card: CardRow) -> str:
    """Return why what the gate saw of the pull request's commit does not count any more; empty if it does."""
    try:
        gate_definition.demand_same(hub, context, card, card.pull_head)
    except GivenUpError as error:
        return error.because
    return ""
