"""The boards' shapes: columns and fields as they were last read."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from ledger.db.rows import columns, keep
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import BoardSeen, Column, Field
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A board; `columns` from left to right; `since` is when Cardinal first saw it."""

    board_id: BoardId
    owner: str
    number: int
    title: str
    status_field_id: str
    columns: tuple[Column, ...]
    fields: tuple[Field, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class _Stored:
    board_id: BoardId
    owner: str
    number: int
    title: str
    status_field_id: str
    columns: str
    fields: str
    since: datetime


boards = Table("view_boards", VIEWS, *columns(_Stored, "board_id"))
fold = Fold()


def get(db: Connection, board_id: BoardId) -> BoardRow | None:
    """Return the board; None when it was never seen."""
    row = db.execute(select(boards).where(boards.c.board_id == board_id)).first()
    return None if row is None else _board(row)


def owner_of(db: Connection, board_id: BoardId) -> str:
    """Return the board's owner; empty when it was never seen."""
    return db.scalar(select(boards.c.owner).where(boards.c.board_id == board_id)) or ""


def all_boards(db: Connection) -> tuple[BoardRow, ...]:
    """Return all boards by owner and number."""
    return tuple(_board(row) for row in db.execute(select(boards).order_by(boards.c.owner, boards.c.number)))


@fold.on(BoardSeen)
def _seen(db: Connection, it: Recorded, event: BoardSeen) -> None:
    shape = {
        "owner": event.owner,
        "number": event.number,
        "title": event.title,
        "status_field_id": event.status_field_id,
        "columns": json.dumps([asdict(column) for column in event.columns]),
        "fields": json.dumps([asdict(field) for field in event.fields]),
    }
    known = get(db, event.board_id) is not None
    keep(db, boards, {"board_id": event.board_id}, shape if known else {**shape, "since": it.at})


def _board(row: Row[Any]) -> BoardRow:
    shown = tuple(Column(**column) for column in json.loads(row.columns))
    kept = tuple(Field(**field) for field in json.loads(row.fields))
    return BoardRow(
        row.board_id, row.owner, row.number, row.title, row.status_field_id, shown, kept, row.since
    )
