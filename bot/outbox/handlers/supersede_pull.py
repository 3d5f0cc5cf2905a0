"""Closes a pull request that was the card's, since another run's change was chosen."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers.close_pull import close_with_reason
from bot.outbox.targets import CommentThread
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import SupersedePull

ACT = Act("supersede:{card_id}:{number}", ordered=True)


def carry_out(context: OutboxContext, intent: SupersedePull, entry: Entry) -> ActResult:
    """Post the reason, then close; a closed or merged one needs nothing."""
    pull = CommentThread(intent.repository, intent.number)
    return close_with_reason(context, entry, pull, intent.because) or ActResult()
