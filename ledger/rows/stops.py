"""The kill switches that are on."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class StopRow:
    """A stop of everything in `scope` (board, column or card) that `target` names."""

    board_id: BoardId
    scope: str
    target: str
    by: str
    at: datetime
    because: str = ""
    claims: bool = False
