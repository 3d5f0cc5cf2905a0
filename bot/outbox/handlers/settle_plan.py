"""Edits the plan's comment to say who approved or redirected it; the boxes go."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.handlers.post_plan import plan_key
from bot.outbox.posting import settle
from bot.outbox.run_story import story_of
from bot.outbox.targets import plan_of, talk_of_run
from bot.render import plan as text
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import SettlePlan

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: SettlePlan) -> EntryKey:
    """Return the key: a plan's revision is settled once."""
    return EntryKey(f"plan-settled:{intent.run_id}:{intent.revision}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: SettlePlan, _entry: Entry) -> ActResult:
    """Edit the plan's comment."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id)
        talk = talk_of_run(db, story.card, story.run, context)
        plan = plan_of(db, intent.run_id, intent.revision)
    if plan is None:
        return ActResult("", "")
    posted = plan_key(intent.run_id, intent.revision)
    return settle(hub, context, posted, talk.repository, text.write(story, plan))
