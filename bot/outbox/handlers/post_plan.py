"""Posts a plan that waits for approval, as a comment that notifies."""

from bot.outbox.contract import Act, OutboxContext, Outcome
from bot.outbox.posting import publish
from bot.outbox.run_story import story_of
from bot.outbox.targets import plan_of, talk_of_run
from bot.render import plan as text
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import PostPlan

# One comment per revision of a run's plan.
ACT = Act("plan:{run_id}:{revision}", priority=0, ordered=True)


def carry_out(context: OutboxContext, intent: PostPlan, entry: Entry) -> Outcome:
    """Post the plan."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id)
        talk = talk_of_run(db, intent.run_id, context)
        plan = plan_of(db, intent.run_id, intent.revision)
    if plan is None:
        return Outcome()
    return publish(context, entry, talk, text.write(story, plan))
