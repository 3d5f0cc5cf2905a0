"""What Cardinal cannot reach: organisations and repositories, and why."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, many, pick, where
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import AccessLost, AccessRegained
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class LossRow:
    """An organisation or a repository that is out of reach; see AccessLost."""

    board_id: BoardId
    target: str
    reason: str
    detail: str
    at: datetime


losses = Table("view_losses", VIEWS, *columns(LossRow, "board_id", "target"))
fold = Fold()


def of_board(db: Connection, board_id: BoardId) -> tuple[LossRow, ...]:
    """Return what is out of reach of the board, the oldest first."""
    return many(db, LossRow, pick(LossRow, losses).where(losses.c.board_id == board_id).order_by(losses.c.at))


def of_repository(db: Connection, board_id: BoardId, repository: str | None) -> tuple[LossRow, ...]:
    """Return what keeps a repository's cards out of reach: itself, and its owner's installation."""
    if repository is None:
        return ()
    near = (repository, repository.partition("/")[0])
    return tuple(row for row in of_board(db, board_id) if row.target in near)


@fold.on(AccessLost)
def _lost(db: Connection, it: Recorded, event: AccessLost) -> None:
    key = {"board_id": event.board_id, "target": event.target}
    keep(db, losses, key, {"reason": event.reason, "detail": event.detail, "at": it.at})


@fold.on(AccessRegained)
def _regained(db: Connection, _it: Recorded, event: AccessRegained) -> None:
    key = {"board_id": event.board_id, "target": event.target}
    db.execute(losses.delete().where(where(losses, key)))
