"""Posts a question as a comment that notifies."""

from bot.outbox.contract import Act, OutboxContext, Outcome
from bot.outbox.posting import publish
from bot.outbox.targets import talk_of_run
from bot.render import question as text
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import questions
from rules.intents.outbound import PostQuestion

# One comment per question.
ACT = Act("question:{question_id}", priority=0, ordered=True)


def carry_out(context: OutboxContext, intent: PostQuestion, entry: Entry) -> Outcome:
    """Post the question."""
    with event_store.reading(context.engine) as db:
        talk = talk_of_run(db, intent.run_id, context)
        question = questions.get(db, intent.question_id)
    if question is None:
        return Outcome()
    return publish(context, entry, talk, text.write(question))
