"""Edits the question's comment to show its answer; the boxes go."""

from bot.outbox.contract import Act, OutboxContext, Outcome
from bot.outbox.handlers import post_question
from bot.outbox.posting import settle
from bot.outbox.targets import talk_of_run
from bot.render import question as text
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import questions
from rules.intents.outbound import SettleQuestion

# A question is settled once.
ACT = Act("question-settled:{question_id}", ordered=True)


def carry_out(context: OutboxContext, intent: SettleQuestion, _entry: Entry) -> Outcome:
    """Edit the question's comment."""
    with event_store.reading(context.engine) as db:
        talk = talk_of_run(db, intent.run_id, context)
        question = questions.get(db, intent.question_id)
    if question is None:
        return Outcome()
    return settle(context, post_question.ACT.key(intent), talk.repository, text.write(question))
