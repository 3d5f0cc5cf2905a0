"""Writes or edits the run's one sticky comment from the ledger as it is now."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult
from bot.outbox.edit_pacing import wait_for_more
from bot.outbox.posting import last_of, publish
from bot.outbox.run_story import story_of
from bot.outbox.targets import talk_of_run
from bot.render.run import comment
from bot.render.run.story import Story
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.states import RunState
from rules.intents.outbound import WriteRunComment

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 3
ORDERED = False  # it waits between edits, and what is ordered behind it must not
COALESCE = True
WAIT_S = 1.0  # below it no state of a run can be read anyway
# States that pass by themselves: what follows is told soon. Those that wait for a person are told at once.
FLOWING = (
    RunState.QUEUED,
    RunState.CLAIMED,
    RunState.PREPARING,
    RunState.PLANNING,
    RunState.WORKING,
    RunState.VALIDATING,
    RunState.PUBLISHING,
)


def key(intent: WriteRunComment) -> EntryKey:
    """Return the key: one comment for each run."""
    return EntryKey(f"run:{intent.run_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: WriteRunComment, entry: Entry) -> ActResult:
    """Post or edit the comment; raises TooSoonError for mere progress too soon after the last edit."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        talk = talk_of_run(db, story.card, story.run, context)
    _wait_for_more(context, story, entry)
    return publish(hub, context, entry, talk, comment.write(story), unticks=True)


def _wait_for_more(context: "OutboxContext", story: Story, entry: Entry) -> None:
    last = last_of(context, entry.key)
    if last is not None and story.run.state in FLOWING:
        wait_for_more(context, story.run, last)
