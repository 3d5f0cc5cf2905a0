"""The boards' shapes: columns and fields as they were last read."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, select

from ledger.db.rows import change, columns, fields_for, find, listed, record
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


boards = Table("view_boards", VIEWS, *columns(BoardRow, "board_id"))
fold = Fold()


def get(db: Connection, board_id: BoardId) -> BoardRow | None:
    """Return the board; None when it was never seen."""
    return find(db, BoardRow, boards, board_id=board_id)


def owner_of(db: Connection, board_id: BoardId) -> str:
    """Return the board's owner; empty when it was never seen."""
    return db.scalar(select(boards.c.owner).where(boards.c.board_id == board_id)) or ""


def all_boards(db: Connection) -> tuple[BoardRow, ...]:
    """Return all boards by owner and number."""
    return listed(db, BoardRow, boards, "owner", "number")


@fold.on(BoardSeen)
def _seen(db: Connection, it: Recorded, event: BoardSeen) -> None:
    if not change(db, boards, {"board_id": event.board_id}, **fields_for(boards, event)):
        record(db, boards, it, since=it.at)
