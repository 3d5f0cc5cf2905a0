"""Takes the pull request out of draft."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.api import projects, pulls
from bot.github.errors import RefusedError
from bot.outbox import gate_definition
from bot.outbox.contract import ActResult, GivenUpError
from bot.outbox.targets import card_of, pull_of
from ledger.event import Event
from ledger.events.pull import PullChanged
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import cards, checks
from rules.intents.outbound import MarkReady

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True  # it may be asked for again after somebody made it a draft
WAIT_S = 0.0


def key(intent: MarkReady) -> EntryKey:
    """Return the key: once for what it is about."""
    return EntryKey(f"ready:{intent.card_id}:{intent.about}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: MarkReady, _entry: Entry) -> ActResult:
    """Mark it ready; one that is ready, closed or was never opened needs nothing."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
        gate = checks.standing(db, intent.card_id, card.pull_head)
    pull = pull_of(card)
    if pull is None or card.pull_state != "open" or not card.pull_draft:
        return ActResult("", "")
    if not gate.lets_through:  # somebody pushed before it was its turn
        raise GivenUpError(f"the gate did not let {card.pull_head[:7]} through: say /cardinal check")
    gate_definition.demand_same(hub, context, card, card.pull_head)
    try:
        projects.mark_ready(hub, pull.repository, card.pull_node_id)
    except RefusedError:
        now = pulls.read(hub, pull.repository, pull.number)
        if now.draft and now.state == "open":
            raise

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.pull_number != pull.number or not fresh.pull_draft:
            return ()
        return (PullChanged(intent.card_id, pull.number, fresh.pull_state, False, fresh.pull_head),)

    return ActResult(str(pull.number), "ready", events)
