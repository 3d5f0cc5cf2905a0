"""Deletes the card's branch on GitHub."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github import pulls
from bot.github.act import Outcome
from bot.github.subjects import card_of
from ledger import book
from ledger.event import Event
from ledger.events.pull import BranchDeleted
from ledger.ids import EntryKey
from ledger.outbox import Entry
from rules.intents import DeleteBranch

if TYPE_CHECKING:
    from bot.desk import Desk
    from bot.github.hub import Hub

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True  # a later run may push the branch again
WAIT_S = 0.0


def key(intent: DeleteBranch) -> EntryKey:
    """Return the key: one branch of one card."""
    return EntryKey(f"branch:{intent.card_id}:{intent.branch}")


def carry_out(hub: "Hub", desk: "Desk", intent: DeleteBranch, _entry: Entry) -> Outcome:
    """Delete the branch, but not under an open pull request; one that is gone counts as deleted."""
    with book.reading(desk.engine) as db:
        card = card_of(db, intent.card_id)
    repository = card.pull_repository or card.repository
    if repository is None or not intent.branch or card.pull_state == "open":
        return Outcome("", "")
    pulls.delete_branch(hub, repository, intent.branch)

    def events(_: Connection) -> tuple[Event, ...]:
        return (BranchDeleted(intent.card_id, intent.branch),)

    return Outcome(intent.branch, "deleted", events)
