"""Posts the final report of a run, or its failure with the last known state."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.posting import publish
from bot.outbox.run_story import story_of
from bot.outbox.targets import talk_of_run
from bot.render.run import report
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import PostReport

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: PostReport) -> EntryKey:
    """Return the key: a run has one report."""
    return EntryKey(f"report:{intent.run_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: PostReport, entry: Entry) -> ActResult:
    """Post the report."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        talk = talk_of_run(db, story.card, story.run, context)
    return publish(hub, context, entry, talk, report.write(story))
