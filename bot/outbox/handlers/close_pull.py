"""Closes the pull request without merging it, and says why."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.api import pulls
from bot.github.errors import RefusedError
from bot.outbox.contract import ActResult
from bot.outbox.posting import publish
from bot.outbox.targets import card_of, pull_of
from bot.render.markdown.escape import line
from ledger.event import Event
from ledger.events.pull import PullChanged
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import cards
from rules.intents.outbound import ClosePull

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True
WAIT_S = 0.0


def key(intent: ClosePull) -> EntryKey:
    """Return the key: one card's pull request."""
    return EntryKey(f"close:{intent.card_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: ClosePull, entry: Entry) -> ActResult:
    """Say why, then close; one that is closed or merged already needs nothing."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
    pull = pull_of(card)
    if pull is None or card.pull_state != "open" or not (card.archived or card.given_up):
        return ActResult("", "")  # closed or merged already, or the card was taken up again
    because = line(intent.because.rstrip(". "), 500)
    why = f"Closed without merging: {because}. Its commits stay in this pull request."
    outcome = publish(hub, context, entry, pull, why)
    try:
        pulls.edit(hub, pull.repository, pull.number, state="closed")
    except RefusedError:
        if pulls.read(hub, pull.repository, pull.number).state == "open":
            raise

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.pull_number != pull.number or fresh.pull_state != "open":
            return ()
        return (PullChanged(intent.card_id, pull.number, "closed", fresh.pull_draft, fresh.pull_head),)

    return ActResult(outcome.remote_id, outcome.digest, events)
