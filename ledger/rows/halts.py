"""Boards that wait because runs of several cards failed for one cause."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class HaltRow:
    """A halt since `at`. `probing`: one run may try; `probe` is that run once it was claimed, else empty."""

    board_id: BoardId
    cause: str
    because: str
    until: datetime
    tries: int
    at: datetime
    probing: bool = False
    probe: str = ""
