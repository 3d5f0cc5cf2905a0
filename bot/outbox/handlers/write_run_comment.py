"""Writes or edits the run's one sticky comment from the ledger's current state."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import last_of, publish_comment, wait_for_more
from bot.outbox.targets import story_of, thread_of_run
from bot.render.run import comment
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.states import RunState
from rules.intents.outbound import WriteRunComment

# One comment per run. Not ordered: it waits between edits, and ordered acts behind it must not.
# Within a second no state of a run can be read anyway.
ACT = Act("run:{run_id}", priority=3, coalesce=True, wait_s=1.0)
# In these states a person waits, so the comment is written at once; the others pass by themselves.
# A plan that awaits approval has a comment of its own, which is posted at once.
WAITING = (RunState.PARKED, RunState.ENDED)


def carry_out(context: OutboxContext, intent: WriteRunComment, entry: Entry) -> ActResult:
    """Post or edit the comment; raises TooSoonError for mere progress soon after the last edit."""
    with context.reading() as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        thread = thread_of_run(db, intent.run_id, context)
    last = last_of(context, entry.key)
    if last is not None and story.run.is_adopted:
        return ActResult(last.remote_id, last.digest)  # it says more than the ledger knows
    if last is not None and story.run.state not in WAITING:
        wait_for_more(context, story.run, last)
    return publish_comment(context, entry, thread, comment.write(story), unticks=True)
