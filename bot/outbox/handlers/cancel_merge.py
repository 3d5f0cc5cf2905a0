"""Lets GitHub no longer merge the pull request by itself."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.api import merge_queue
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.targets import card_of, pull_of
from ledger.event import Event
from ledger.events.pull import MergeAwaited
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import merges as awaited
from rules.intents.outbound import CancelMerge

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 0  # before GitHub merges what nobody wants
ORDERED = False
COALESCE = True  # it may be asked to merge the same again
WAIT_S = 0.0


def key(intent: CancelMerge) -> EntryKey:
    """Return the key: once for each commit that was to be merged."""
    return EntryKey(f"unmerge:{intent.card_id}:{intent.head}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: CancelMerge, _entry: Entry) -> ActResult:
    """Take it out of the queue, or auto-merge off; one that is merged already stays so."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
    pull = pull_of(card)
    if pull is None:
        return ActResult("", "")
    try:
        merge_queue.cancel(hub, card.pull_node_id)
    except NotFoundError:
        return ActResult("", "")

    def events(db: Connection) -> tuple[Event, ...]:
        known = awaited.get(db, intent.card_id)
        if known is None or known.head != intent.head:
            return ()
        return (MergeAwaited(intent.card_id, known.number, "", intent.head, intent.because),)

    return ActResult(str(pull.number), intent.head, events)
