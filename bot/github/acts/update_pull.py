"""Brings the pull request's description up to date: the newest report and evidence."""

from typing import TYPE_CHECKING

from bot.github import pulls
from bot.github.act import Outcome
from bot.github.posting import last_of
from bot.github.stories import story_of
from bot.github.subjects import card_of, pull_of
from bot.texts import pull_body
from bot.texts.marker import digest_of, mark
from ledger import book
from ledger.ids import EntryKey
from ledger.outbox import Entry
from rules.intents import UpdatePull

if TYPE_CHECKING:
    from bot.desk import Desk
    from bot.github.hub import Hub

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True
WAIT_S = 0.0


def key(intent: UpdatePull) -> EntryKey:
    """Return the key: one description for each card."""
    return EntryKey(f"pull-body:{intent.card_id}")


def carry_out(hub: "Hub", desk: "Desk", intent: UpdatePull, entry: Entry) -> Outcome:
    """Write the description where it differs from the one written last; without a pull request do nothing."""
    with book.reading(desk.engine) as db:
        card = card_of(db, intent.card_id)
        pull = pull_of(card)
        if pull is None or card.run_id is None or card.pull_state != "open":
            return Outcome("", "")
        body = pull_body.write(story_of(db, card.run_id))
    last = last_of(desk, entry.key)
    done = Outcome(str(pull.number), digest_of(body))
    if last is None or (last.remote_id, last.digest) != (done.remote_id, done.digest):
        pulls.edit(hub, pull.repository, pull.number, body=mark(body, entry.key))
    return done
