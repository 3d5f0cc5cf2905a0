"""Edits the plan's comment to say who approved or redirected it; the boxes go."""

from bot.outbox.contract import Act, OutboxContext, Outcome
from bot.outbox.handlers import post_plan
from bot.outbox.posting import settle
from bot.outbox.run_story import story_of
from bot.outbox.targets import plan_of, talk_of_run
from bot.render import plan as text
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import SettlePlan

# A plan's revision is settled once.
ACT = Act("plan-settled:{run_id}:{revision}", ordered=True)


def carry_out(context: OutboxContext, intent: SettlePlan, _entry: Entry) -> Outcome:
    """Edit the plan's comment."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id)
        talk = talk_of_run(db, intent.run_id, context)
        plan = plan_of(db, intent.run_id, intent.revision)
    if plan is None:
        return Outcome()
    return settle(context, post_plan.ACT.key(intent), talk.repository, text.write(story, plan))
