"""The base of events: frozen, past tense, bound to one stream."""

from dataclasses import dataclass
from datetime import datetime


class Event:
    """The base of every event kind; a kind is a frozen dataclass in `ledger/events/<family>.py`.

    Its class name is its kind in the log and may never change; a changed shape is a new kind.
    """

    __slots__ = ()

    @property
    def stream(self) -> str:
        """The stream that orders this event: `board:ID`, `card:ID` or `run:ID`."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log holds it; `at` is in UTC, `seq` counts over the log, `version` over the stream."""

    seq: int
    stream: str
    version: int
    at: datetime
    event: Event
