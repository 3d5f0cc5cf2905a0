"""Posts the final report of a run, or its failure with the last known state."""

from typing import TYPE_CHECKING

from bot.github.act import Outcome
from bot.github.posting import publish
from bot.github.stories import story_of
from bot.github.subjects import talk_of_run
from bot.texts import report
from ledger import book
from ledger.ids import EntryKey
from ledger.outbox import Entry
from rules.intents import PostReport

if TYPE_CHECKING:
    from bot.desk import Desk
    from bot.github.hub import Hub

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = False
WAIT_S = 0.0


def key(intent: PostReport) -> EntryKey:
    """Return the key: a run has one report."""
    return EntryKey(f"report:{intent.run_id}")


def carry_out(hub: "Hub", desk: "Desk", intent: PostReport, entry: Entry) -> Outcome:
    """Post the report."""
    with book.reading(desk.engine) as db:
        story = story_of(db, intent.run_id, desk.config.public_url)
        talk = talk_of_run(db, story.card, story.run, desk)
    return publish(hub, desk, entry, talk, report.write(story))
