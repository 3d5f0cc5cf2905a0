"""Interface of a judge, which sees every answer of the API and every delivery. Only tests have one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Exchange:
    """One API request and its answer. `path` is as sent, without `/api/v3`; `kind` is the media type alone.

    `installed`: the caller was an installation with its token. `faked`: a fault made the answer.
    """

    method: str
    path: str
    query: str
    agent: str
    body: bytes
    status: int
    kind: str
    answered: bytes
    installed: bool
    faked: bool


class Judge(Protocol):
    """Is called in the thread that answers; it returns nothing and must not raise."""

    def prepare(self) -> None:
        """Do what takes long before a client waits for its first answer."""

    def note_exchange(self, exchange: Exchange) -> None:
        """Take note of a request and its answer."""

    def note_delivery(self, headers: Mapping[str, str], body: bytes) -> None:
        """Take note of a delivery that was recorded, which may be sent or lost."""
