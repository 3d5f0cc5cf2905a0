"""Removes refused ticks from a comment of Cardinal's own."""

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import own_marker
from bot.outbox.targets import current_card, place_of
from bot.render.markdown import checkboxes
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import UntickBoxes

# One per comment; coalesced, because a box may be ticked again.
ACT = Act("untick:{place}:{comment_id}", coalesce=True)


def carry_out(context: OutboxContext, intent: UntickBoxes, _entry: Entry) -> ActResult:
    """Write the comment without ticks; a deleted comment, or one that is not Cardinal's, needs nothing."""
    thread = place_of(current_card(context, intent.card_id), intent.place, context)
    family = "pulls" if intent.place == "review" else "issues"
    path = f"{repository_path(thread.repository)}/{family}/comments/{intent.comment_id}"
    try:
        there = context.hub.rest("GET", path).body
        wanted = checkboxes.untick(there["body"] or "")
        if wanted != there["body"] and own_marker(context.hub, there) is not None:
            context.hub.rest("PATCH", path, body={"body": wanted})
    except NotFoundError:
        return ActResult()
    return ActResult(str(intent.comment_id), "")
