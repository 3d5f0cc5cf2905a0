"""The kill switches that are on."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import all_rows, columns, drop, keep, listed, pick, recorder
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import ColumnsChanged, StopLifted, StopOrdered
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class StopRow:
    """A stop of everything in `scope` (board, column or card) that `target` names."""

    board_id: BoardId
    scope: str
    target: str
    by: str
    at: datetime


stops = Table("view_stops", VIEWS, *columns(StopRow, "board_id", "scope", "target"))
fold = Fold()


def of_board(db: Connection, board_id: BoardId) -> tuple[StopRow, ...]:
    """Return the stops on the board, the oldest first."""
    return listed(db, StopRow, stops, "at", board_id=board_id)


fold.on(StopOrdered)(recorder(stops))


@fold.on(ColumnsChanged)
def _columns_renamed(db: Connection, _it: Recorded, event: ColumnsChanged) -> None:
    now = {column.before: column.after for column in event.renamed}
    held = (stops.c.board_id == event.board_id) & (stops.c.scope == "column") & stops.c.target.in_(tuple(now))
    rows = all_rows(db, StopRow, pick(StopRow, stops).where(held))
    db.execute(stops.delete().where(held))  # all before any: two columns may have swapped their names
    for row in rows:
        key = {"board_id": row.board_id, "scope": row.scope, "target": now[row.target]}
        keep(db, stops, key, {"by": row.by, "at": row.at})


@fold.on(StopLifted)
def _lifted(db: Connection, _it: Recorded, event: StopLifted) -> None:
    drop(db, stops, board_id=event.board_id, scope=event.scope, target=event.target)
