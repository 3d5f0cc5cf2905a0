"""What an outward act is: the contract of the files in `bot/outbox/handlers/`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection

from ledger.errors import CardinalError
from ledger.event import Event
from ledger.ids import EntryKey
from ledger.queue.outbox import Entry

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext


def no_events(_: Connection) -> tuple[Event, ...]:
    """Return nothing: GitHub's own webhooks tell the rest."""
    return ()


@dataclass(frozen=True, slots=True)
class ActResult:
    """What GitHub calls the result (a comment's id …, or empty) and the SHA-256 of what was sent.

    `events` is asked inside the transaction that settles the entry: it sees what was recorded meanwhile.
    """

    remote_id: str
    digest: str
    events: Callable[[Connection], tuple[Event, ...]] = no_events


class GivenUpError(CardinalError):
    """The act can never succeed as asked; `because` tells a person why and what to do."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


class TooSoonError(CardinalError):
    """The act has to wait until `due_at`; it costs no attempt. `because` is for the log."""

    def __init__(self, due_at: datetime, because: str) -> None:
        self.due_at, self.because = due_at, because
        super().__init__(because)


class TryAgainError(CardinalError):
    """What the act needs did not work this time; it costs an attempt."""


class Act(Protocol):
    """One file of `bot/outbox/handlers/`, named like its intent in snake case."""

    LANE: str  # github, or assist for what calls a model
    PRIORITY: (
        int  # 0 questions, failures, plans; 1 reports, replies, pull requests, moves; 2 faces; 3 progress
    )
    ORDERED: bool  # after everything ordered that was asked for the same card before
    COALESCE: bool  # one pending entry per key: only the newest counts
    WAIT_S: float  # a coalesced act is due that long after the last of the same key; 0: at once

    # Any: each file takes its own intent class; `key` and `carry_out` are only called with that.
    key: Callable[[Any], EntryKey]
    carry_out: "Callable[[Hub, OutboxContext, Any, Entry], ActResult]"
