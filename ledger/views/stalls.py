"""Boards with work that is ready and that no worker takes."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.board import WorkStalled
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class StallRow:
    """The number of the board's runs that wait for a worker that does not come."""

    board_id: BoardId
    runs: int
    at: datetime


stalls = Table("view_stalls", VIEWS, *columns(StallRow, "board_id"))
fold = Fold()


def counts(db: Connection) -> dict[BoardId, int]:
    """Return the number of such runs of every board that has some."""
    return {row.board_id: row.runs for row in list_rows(db, StallRow, stalls) if row.runs}


fold.on(WorkStalled)(recorder(stalls))
