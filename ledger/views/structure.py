"""The former columns of a board, and whether its field Status is there."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import all_rows, columns, drop, find, keep, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import BoardSeen, ColumnsChanged, StatusFound, StatusLost
from ledger.fold import Fold
from ledger.ids import BoardId

STATUS = ""  # no column is called so: the row of the field itself


@dataclass(frozen=True, slots=True)
class FormerRow:
    """A column that has another name now, `became`, or was deleted, where that is empty."""

    board_id: BoardId
    name: str
    became: str


former = Table("view_structure", VIEWS, *columns(FormerRow, "board_id", "name"))
fold = Fold()


def former_columns(db: Connection, board_id: BoardId) -> dict[str, str]:
    """Return the present names of the board's former columns; empty for one that was deleted."""
    mine = (former.c.board_id == board_id) & (former.c.name != STATUS)
    query = pick(FormerRow, former).where(mine).order_by(former.c.name)
    return {row.name: row.became for row in all_rows(db, FormerRow, query)}


def lost_status(db: Connection, board_id: BoardId) -> str | None:
    """Return the present name of the field Status, empty where it is gone; None while it is there."""
    row = find(db, FormerRow, former, board_id=board_id, name=STATUS)
    return None if row is None else row.became


@fold.on(ColumnsChanged)
def _changed(db: Connection, _it: Recorded, event: ColumnsChanged) -> None:
    now = {column.before: column.after for column in event.renamed} | dict.fromkeys(event.removed, "")
    for name, became in former_columns(db, event.board_id).items():  # of one that was renamed twice
        if became in now:
            keep(db, former, {"board_id": event.board_id, "name": name}, {"became": now[became]})
    for name, became in now.items():
        keep(db, former, {"board_id": event.board_id, "name": name}, {"became": became})


@fold.on(BoardSeen)
def _seen(db: Connection, _it: Recorded, event: BoardSeen) -> None:
    there = tuple(column.name for column in event.columns)
    db.execute(former.delete().where(former.c.board_id == event.board_id, former.c.name.in_(there)))


@fold.on(StatusLost)
def _lost(db: Connection, _it: Recorded, event: StatusLost) -> None:
    keep(db, former, {"board_id": event.board_id, "name": STATUS}, {"became": event.renamed})


@fold.on(StatusFound)
def _found(db: Connection, _it: Recorded, event: StatusFound) -> None:
    drop(db, former, board_id=event.board_id, name=STATUS)
