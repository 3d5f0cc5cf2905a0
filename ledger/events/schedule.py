"""Scheduled cards: their next times, and the cards that were made."""

from dataclasses import dataclass
from datetime import datetime

from ledger.events.board import BoardEvent


@dataclass(frozen=True, slots=True)
class ScheduleSet(BoardEvent):
    """A schedule of the policy is new or has another timing; its first card is due at `next_at`.

    Without a timing: the policy has it no more, and one that comes back is new.
    """

    schedule: str
    timing: str
    next_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduleDue(BoardEvent):
    """The schedule's time `due_at` came, and for all times missed before it this one stands.

    `skipped` says why no card is made; empty: one is. The next one is due at `next_at`. `event` names the
    occurrence at `due_at` where a schedule waits for one, not for a time.
    """

    schedule: str
    due_at: datetime
    next_at: datetime
    skipped: str = ""
    event: str = ""


@dataclass(frozen=True, slots=True)
class ScheduledCardMade(BoardEvent):
    """The issue of the schedule's time `due_at`, or of the `event` of then, is on the board."""

    schedule: str
    due_at: datetime
    repository: str
    number: int
    event: str = ""
