"""Runs of an issue's other cards."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class RunElsewhere:
    """A run of the same issue's card on the board of that name; `asked` as in RunQueued."""

    run_id: RunId
    board: str
    asked: str = ""
    ended_at: datetime | None = None
