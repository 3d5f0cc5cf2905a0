"""When the disk of Cardinal's home was full last."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import DiskWasFull
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class FullDiskRow:
    """From when until when it was full."""

    board_id: BoardId
    since: datetime
    until: datetime


full_disks = Table("view_full_disks", VIEWS, *columns(FullDiskRow, "board_id"))
fold = Fold()


def newest(db: Connection, board_id: BoardId) -> FullDiskRow | None:
    """Return the last time; None where it never was full."""
    return one(db, FullDiskRow, pick(FullDiskRow, full_disks).where(full_disks.c.board_id == board_id))


@fold.on(DiskWasFull)
def _was_full(db: Connection, it: Recorded, event: DiskWasFull) -> None:
    keep(db, full_disks, {"board_id": event.board_id}, {"since": event.since, "until": it.at})
