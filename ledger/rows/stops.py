"""The kill switches that are on, and who lifted those that were."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class LiftRow:
    """`by` lifted the stop of the `scope` (board, column or card) that `target` names."""

    board_id: BoardId
    scope: str
    target: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class StopRow(LiftRow):
    """A stop of everything there, by them."""

    because: str = ""
    claims: bool = False
