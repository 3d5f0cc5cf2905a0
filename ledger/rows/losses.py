"""Organisations and repositories out of reach."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class LossRow:
    """An organisation or a repository that is out of reach; see AccessLost."""

    board_id: BoardId
    target: str
    reason: str
    detail: str
    at: datetime
