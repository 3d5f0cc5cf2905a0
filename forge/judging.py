"""What a judge is told: every answer of the API and every delivery. The forge itself has none; tests do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Exchange:
    """One API request and its answer. `path` is as sent, without `/api/v3`; `kind` is the media type alone.

    `installed` tells that an installation asked, with its token; `faked`, that a test wanted the answer so.
    """

    method: str
    path: str
    query: str
    agent: str
    asked: bytes
    status: int
    kind: str
    answered: bytes
    installed: bool
    faked: bool


class Judge(Protocol):
    """Is told of everything, in the thread that answers; it returns nothing and must not raise."""

    def exchanged(self, exchange: Exchange) -> None:
        """Take note of a request and its answer."""

    def announced(self, headers: Mapping[str, str], body: bytes) -> None:
        """Take note of a delivery that was recorded, which may be sent or lost."""
