"""Closes the pull request without a merge, and posts the reason."""

from sqlalchemy import Connection

from bot.github.api import pulls
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import publish_comment
from bot.outbox.targets import CommentThread, current_card, pull_of
from bot.render.markdown.escape import line
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import PullChanged
from ledger.queue.outbox import Entry
from ledger.states import PullState
from ledger.views import cards
from rules.intents.outbound import ClosePull

# One per card's pull request.
ACT = Act("close:{card_id}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: ClosePull, entry: Entry) -> ActResult:
    """Post the reason, then close; a closed or merged one needs nothing."""
    card = current_card(context, intent.card_id)
    pull = pull_of(card)
    if pull is None or not card.has_open_pull or not (card.archived or card.given_up):
        return ActResult()  # closed or merged already, or the card was taken up again
    outcome = close_with_reason(context, entry, pull, intent.because)
    if outcome is None:
        return ActResult()  # its delivery says whether it was merged

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, intent.card_id)
        if fresh is None or fresh.pull_number != pull.number or not fresh.has_open_pull:
            return ()
        return (
            PullChanged(intent.card_id, pull.number, PullState.CLOSED, fresh.pull_draft, fresh.pull_head),
        )

    return ActResult(outcome.remote_id, outcome.digest, events)


def close_with_reason(
    context: OutboxContext, entry: Entry, pull: CommentThread, because: str
) -> ActResult | None:
    """Post the reason and close the pull request; None where GitHub has it closed or merged already."""
    if pulls.read(context.hub, pull.repository, pull.number).state != "open":
        return None
    why = f"Closed without merging: {line(because.rstrip('. '), 500)}. Its commits stay in this pull request."
    outcome = publish_comment(context, entry, pull, why)
    try:
        pulls.edit(context.hub, pull.repository, pull.number, state="closed")
    except RefusedError:
        if pulls.read(context.hub, pull.repository, pull.number).state == "open":
            raise
    return outcome
