"""Deletes the card's branch on GitHub."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.api import pulls
from bot.outbox.contract import ActResult
from bot.outbox.targets import card_of
from ledger.event import Event
from ledger.events.pull import BranchDeleted
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import DeleteBranch

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 1
ORDERED = True
COALESCE = True  # a later run may push the branch again
WAIT_S = 0.0


def key(intent: DeleteBranch) -> EntryKey:
    """Return the key: one branch of one card."""
    return EntryKey(f"branch:{intent.card_id}:{intent.branch}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: DeleteBranch, _entry: Entry) -> ActResult:
    """Delete the branch, but not under an open pull request; one that is gone counts as deleted."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
    repository = card.pull_repository or card.repository
    if repository is None or not intent.branch or card.pull_state == "open":
        return ActResult("", "")
    pulls.delete_branch(hub, repository, intent.branch)

    def events(_: Connection) -> tuple[Event, ...]:
        return (BranchDeleted(intent.card_id, intent.branch),)

    return ActResult(intent.branch, "deleted", events)
