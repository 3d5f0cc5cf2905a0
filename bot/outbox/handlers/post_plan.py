"""Posts a plan that waits for approval, as a comment that notifies; edits it to name who decided."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import publish_comment
from bot.outbox.targets import story_of, thread_of_run
from bot.render import plan as text
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import PostPlan

# One comment per revision of a run's plan.
ACT = Act("plan:{run_id}:{revision}", priority=0, ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: PostPlan, entry: Entry) -> ActResult:
    """Post or edit the plan's comment; an unknown revision has none, and none is posted after the run."""
    with context.reading() as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        thread = thread_of_run(db, intent.run_id, context)
    plan = next((it for it in story.plans if it.revision == intent.revision), None)
    if plan is None:
        return ActResult()
    over = plan.state == "proposed" and story.run.ending is not None
    return publish_comment(context, entry, thread, text.write(story, plan), reposts=False, only_edits=over)
