"""Writes the comment with what an investigation found; later which follow-ups became cards."""

from typing import TYPE_CHECKING

from bot.outbox.contract import ActResult, GivenUpError
from bot.outbox.posting import publish
from bot.outbox.run_story import story_of
from bot.outbox.targets import talk_of_run
from bot.render.run import findings as text
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.views import findings
from rules.intents.outbound import WriteFindings

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True
WAIT_S = 0.0


def key(intent: WriteFindings) -> EntryKey:
    """Return the key: one comment for each investigation."""
    return EntryKey(f"findings:{intent.run_id}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: WriteFindings, entry: Entry) -> ActResult:
    """Post or edit the comment."""
    with event_store.reading(context.engine) as db:
        story = story_of(db, intent.run_id, context.config.public_url)
        talk = talk_of_run(db, story.card, story.run, context)
        found = findings.get(db, intent.run_id)
        made = findings.follow_ups_made(db, intent.run_id)
    if found is None:
        raise GivenUpError(f"run {intent.run_id} left no findings")
    root = hub.page_url(story.run.repository)
    said = text.write(story, found, made, root=root, here=talk.repository)
    return publish(hub, context, entry, talk, said, unticks=True)
