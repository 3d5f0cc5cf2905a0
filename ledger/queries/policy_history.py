"""Policies that were in force on a board, from its stream of events."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ledger.events.policy import PolicyLoaded, WorkflowFile
from ledger.ids import BoardId
from ledger.log import event_store


@dataclass(frozen=True, slots=True)
class PastPolicy:
    """A policy file's text, empty for the built-in board, and when it came into force; as in PolicyLoaded."""

    text: str
    at: datetime
    workflows: tuple[WorkflowFile, ...]


def newest(db: Connection, board_id: BoardId, limit: int) -> tuple[PastPolicy, ...]:
    """Return the board's newest policies, the one in force first."""
    loaded = event_store.newest_of(db, f"board:{board_id}", PolicyLoaded, limit)
    return tuple(PastPolicy(event.text, at, event.workflows) for at, event in loaded)
