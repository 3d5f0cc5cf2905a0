"""The boards' shapes as they were last read, their former columns, and whether the field Status is there."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import (
    change,
    columns,
    drop,
    fields_for,
    find,
    keep,
    list_rows,
    record,
    setter,
    value,
)
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import (
    BoardRemoved,
    BoardSeen,
    BoardServed,
    Column,
    ColumnsChanged,
    Field,
    StatusFound,
    StatusLost,
)
from ledger.fold import Fold
from ledger.ids import BoardId

STATUS = ""  # no column is called so: the row of the field itself


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A board; `columns` from left to right; `since` is when Cardinal first saw it.

    The last four are as in BoardServed and BoardRemoved; a board that was only seen is neither.
    """

    board_id: BoardId
    owner: str
    number: int
    title: str
    status_field_id: str
    columns: tuple[Column, ...]
    fields: tuple[Field, ...]
    since: datetime
    served: bool = False
    removed: bool = False
    policy_repository: str = ""
    weight: int = 1

    @property
    def address(self) -> str:
        """The board as people name it, like acme/1."""
        return f"{self.owner}/{self.number}"


@dataclass(frozen=True, slots=True)
class FormerRow:
    """A column that has another name now, `became`, or was deleted, where that is empty."""

    board_id: BoardId
    name: str
    became: str


boards = Table("view_boards", VIEWS, *columns(BoardRow, "board_id"))
former = Table("view_structure", VIEWS, *columns(FormerRow, "board_id", "name"))
fold = Fold()


def get(db: Connection, board_id: BoardId) -> BoardRow | None:
    """Return the board; None when it was never seen."""
    return find(db, BoardRow, boards, board_id=board_id)


def owner_of(db: Connection, board_id: BoardId) -> str:
    """Return the board's owner; empty when it was never seen."""
    return value(db, boards.c.owner, board_id=board_id) or ""


def all_boards(db: Connection) -> tuple[BoardRow, ...]:
    """Return all boards that were seen, without removed ones, by owner and number."""
    return list_rows(db, BoardRow, boards, "owner", "number", removed=False)


def list_removed(db: Connection) -> frozenset[BoardId]:
    return frozenset(row.board_id for row in list_rows(db, BoardRow, boards, removed=True))


def at(db: Connection, owner: str, number: int) -> BoardRow | None:
    """Return the board at this address; None when it was never seen, or removed. Logins differ in case."""
    rows = list_rows(db, BoardRow, boards, "owner", removed=False, number=number)
    return next((row for row in rows if row.owner.casefold() == owner.casefold()), None)


def list_served(db: Connection) -> tuple[BoardRow, ...]:
    """Return the boards that Cardinal works for, by owner and number."""
    return list_rows(db, BoardRow, boards, "owner", "number", served=True)


def former_columns(db: Connection, board_id: BoardId) -> dict[str, str]:
    """Return the present names of the board's former columns; empty for one that was deleted."""
    rows = list_rows(db, FormerRow, former, "name", board_id=board_id)
    return {row.name: row.became for row in rows if row.name != STATUS}


def find_lost_status(db: Connection, board_id: BoardId) -> str | None:
    """Return the present name of the field Status, empty where it is gone; None while it is there."""
    row = find(db, FormerRow, former, board_id=board_id, name=STATUS)
    return None if row is None else row.became


@fold.on(BoardSeen)
def _fold_board_seen(db: Connection, recorded: Recorded, event: BoardSeen) -> None:
    if not change(db, boards, {"board_id": event.board_id}, **fields_for(boards, event)):
        record(db, boards, recorded, since=recorded.at)
    there = tuple(column.name for column in event.columns)
    drop(db, former, board_id=event.board_id, name=there)


fold.on(BoardServed)(
    setter(
        boards,
        lambda e: {
            "served": True,
            "removed": False,
            "policy_repository": e.policy_repository,
            "weight": e.weight,
        },
        "board_id",
    )
)
fold.on(BoardRemoved)(setter(boards, lambda _: {"served": False, "removed": True}, "board_id"))


@fold.on(ColumnsChanged)
def _fold_columns_changed(db: Connection, _recorded: Recorded, event: ColumnsChanged) -> None:
    now = {column.before: column.after for column in event.renamed} | dict.fromkeys(event.removed, "")
    for name, became in former_columns(db, event.board_id).items():  # of one that was renamed twice
        if became in now:
            keep(db, former, {"board_id": event.board_id, "name": name}, {"became": now[became]})
    for name, became in now.items():
        keep(db, former, {"board_id": event.board_id, "name": name}, {"became": became})


@fold.on(StatusLost)
def _fold_status_lost(db: Connection, _recorded: Recorded, event: StatusLost) -> None:
    keep(db, former, {"board_id": event.board_id, "name": STATUS}, {"became": event.renamed})


@fold.on(StatusFound)
def _fold_status_found(db: Connection, _recorded: Recorded, event: StatusFound) -> None:
    drop(db, former, board_id=event.board_id, name=STATUS)
