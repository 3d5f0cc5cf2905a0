"""The contract of the outbox's handlers: their queueing, dependencies and results."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Protocol

from bot.state.outbox_context import OutboxContext
from ledger.errors import CardinalError
from ledger.ids import EntryKey
from ledger.log.event_store import EventFactory, no_events
from ledger.queue.outbox import Entry
from rules.intents.outbound import Intent

SHARE_OF_AGE = 0.05
MIN_BEHIND, MAX_BEHIND = timedelta(seconds=1), timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class ActResult:
    """GitHub's id of the result (of a comment …, or empty) and the SHA-256 of the text that was sent.

    `events` runs inside the transaction that settles the entry: it sees events recorded meanwhile. Without it
    GitHub's own webhooks report the result. `shows`: what shows the result, and so is written again with it.
    """

    remote_id: str = ""
    digest: str = ""
    events: EventFactory = no_events
    shows: tuple[Intent, ...] = ()


class GivenUpError(CardinalError):
    """The act can never succeed as requested; `because` tells a person the reason and the next step."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


class DeclinedError(GivenUpError):
    """What people did since makes the act wrong for good: its card says so, and nobody repeats it."""


class TooSoonError(CardinalError):
    """The act has to wait until `due_at`; it costs no attempt. `because` is for the log."""

    def __init__(self, due_at: datetime, because: str) -> None:
        self.due_at, self.because = due_at, because
        super().__init__(because)


class BehindError(TooSoonError):
    """The act has to wait for `other` of the outbox: the older that one is, the rarer are the attempts."""

    def __init__(self, now: datetime, other: Entry, because: str) -> None:
        wait = min(max((now - other.created_at) * SHARE_OF_AGE, MIN_BEHIND), MAX_BEHIND)
        super().__init__(now + wait, because)


class TryAgainError(CardinalError):
    """A temporary failure of something that the act needs; it costs an attempt."""


@dataclass(frozen=True, slots=True)
class Act:
    """How entries of one act are queued.

    `key_format` makes an entry's key of the intent's fields; equal keys are the same entry. `lane`: github,
    assist for calls of a model, or notice. `priority`: 0 questions, failures, plans; 1 reports, replies, pull
    requests, moves; 2 faces; 3 progress. An `ordered` act waits for all earlier ordered ones of its card.
    """

    key_format: str
    lane: str = "github"
    priority: int = 1
    ordered: bool = False
    coalesce: bool = False  # one pending entry per key: only the newest counts
    wait_s: float = 0.0  # a coalesced act is due that long after the last of the same key; 0: at once

    def key(self, intent: Intent) -> EntryKey:
        return EntryKey(
            self.key_format.format_map({field.name: getattr(intent, field.name) for field in fields(intent)})
        )


class Handler(Protocol):
    """One file of `bot/outbox/handlers/`, named like its intent in snake case."""

    ACT: Act
    # Any: each file takes its own intent class, and is only called with that.
    carry_out: Callable[[OutboxContext, Any, Entry], ActResult]
