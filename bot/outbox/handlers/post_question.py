"""Posts a question as a comment that notifies; edits it to show the answer."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import publish_comment
from bot.outbox.targets import thread_of_run
from bot.render import question as text
from bot.render.mention import run_mention
from bot.render.run.story import watch_link
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.views import questions, runs
from rules.intents.outbound import PostQuestion

# One comment per question.
ACT = Act("question:{question_id}", priority=0, ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: PostQuestion, entry: Entry) -> ActResult:
    """Post or edit the question's comment; an unknown question has none, and a withdrawn one gets none."""
    with context.reading() as db:
        thread = thread_of_run(db, intent.run_id, context)
        question, run = questions.get(db, intent.question_id), runs.get(db, intent.run_id)
    if question is None or run is None:
        return ActResult()
    body = text.write(question, run_mention(run), watch_link(context.config.public_url, run))
    return publish_comment(context, entry, thread, body, reposts=False, only_edits=question.withdrawn)
