"""Posts a plan that waits for approval, as a comment that notifies."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.posting import publish
from bot.outbox.run_story import story_of
from bot.outbox.targets import plan_of, talk_of_run
from bot.render import plan as text
from ledger.ids import EntryKey, RunId
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import PostPlan

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 0
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: PostPlan) -> EntryKey:
    """Return the key: one comment for each revision of a run's plan."""
    return plan_key(intent.run_id, intent.revision)


def plan_key(run_id: RunId, revision: int) -> EntryKey:
    """Return the key under which a plan is posted, for the act that settles it."""
    return EntryKey(f"plan:{run_id}:{revision}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: PostPlan, entry: Entry) -> ActResult:
    """Post the plan."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id)
        talk = talk_of_run(db, story.card, story.run, context)
        plan = plan_of(db, intent.run_id, intent.revision)
    if plan is None:
        return ActResult("", "")
    return publish(hub, context, entry, talk, text.write(story, plan))
