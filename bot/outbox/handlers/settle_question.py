"""Edits the question's comment to show its answer; the boxes go."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers import post_question
from bot.outbox.posting import edit_posted
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import SettleQuestion

# A question is settled once.
ACT = Act("question-settled:{question_id}", ordered=True)


def carry_out(context: OutboxContext, intent: SettleQuestion, _entry: Entry) -> ActResult:
    """Edit the question's comment."""
    talk, body = post_question.comment_of(context, intent)
    return edit_posted(context, post_question.ACT.key(intent), talk.repository, body) if body else ActResult()
