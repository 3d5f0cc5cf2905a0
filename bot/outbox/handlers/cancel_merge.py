"""Cancels the merge of the pull request by GitHub itself."""

from sqlalchemy import Connection

from bot.github.api import merge_queue
from bot.github.errors import NotFoundError
from bot.outbox.contract import Act, ActResult
from bot.outbox.targets import current_card, pull_of
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.pull import MergeAwaited
from ledger.queue.outbox import Entry
from ledger.views import merges as awaited
from rules.intents.outbound import CancelMerge

# One per commit that was to be merged; coalesced, because the same merge can be requested again.
# Priority 0: before GitHub merges it after all.
ACT = Act("unmerge:{card_id}:{head}", priority=0, coalesce=True)


def carry_out(context: OutboxContext, intent: CancelMerge, _entry: Entry) -> ActResult:
    """Take it out of the queue, or turn auto-merge off; a merged one stays merged."""
    card = current_card(context, intent.card_id)
    pull = pull_of(card)
    if pull is None:
        return ActResult()
    try:
        merge_queue.cancel(context.hub, card.pull_node_id)
    except NotFoundError:
        return ActResult()

    def events(db: Connection) -> tuple[Event, ...]:
        merge = awaited.get(db, intent.card_id)
        if merge is None or merge.head != intent.head:
            return ()
        return (MergeAwaited(intent.card_id, merge.number, "", intent.head, intent.because),)

    return ActResult(str(pull.number), intent.head, events)
