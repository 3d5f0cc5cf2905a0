"""Takes ticks that were refused out of a comment of Cardinal's own."""

from typing import TYPE_CHECKING

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.posting import own_marker
from bot.outbox.targets import card_of, place_of
from bot.render.markdown import checkboxes
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import UntickBoxes

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = False
COALESCE = True  # it may be ticked again
WAIT_S = 0.0


def key(intent: UntickBoxes) -> EntryKey:
    """Return the key: one for each comment."""
    return EntryKey(f"untick:{intent.place}:{intent.comment_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: UntickBoxes, _entry: Entry) -> ActResult:
    """Read the comment and write it without ticks; one that is gone, or not Cardinal's, is left alone."""
    with event_store.reading(context.engine) as db:
        talk = place_of(card_of(db, intent.card_id), intent.place, context)
    family = "pulls" if intent.place == "review" else "issues"
    path = f"{repository_path(talk.repository)}/{family}/comments/{intent.comment_id}"
    try:
        there = hub.rest("GET", path).body
        wanted = checkboxes.unticked(there["body"] or "")
        if wanted != there["body"] and own_marker(hub, there) is not None:
            hub.rest("PATCH", path, body={"body": wanted})
    except NotFoundError:
        return ActResult("", "")
    return ActResult(str(intent.comment_id), "")
