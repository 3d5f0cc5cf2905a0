"""What the rules can ask for when one cause strikes many cards: that the board waits, or goes on."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId
from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class HaltBoard(Intent):
    """Let no run start on the board until `until`; then one tries. `because` is read by people."""

    board_id: BoardId
    cause: str
    because: str
    until: datetime
    tries: int


@dataclass(frozen=True, slots=True)
class LiftHalt(Intent):
    """Let runs start on the board again."""

    board_id: BoardId
    by: str
