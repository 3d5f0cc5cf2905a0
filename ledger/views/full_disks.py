"""The newest time when the disk of Cardinal's home was full."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, record
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import DiskWasFull
from ledger.fold import Fold
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class FullDiskRow:
    """The first and the last moment of it."""

    board_id: BoardId
    since: datetime
    until: datetime


full_disks = Table("view_full_disks", VIEWS, *columns(FullDiskRow, "board_id"))
fold = Fold()


def newest(db: Connection, board_id: BoardId) -> FullDiskRow | None:
    """Return the newest time; None where it never was full."""
    return find(db, FullDiskRow, full_disks, board_id=board_id)


@fold.on(DiskWasFull)
def _fold_disk_was_full(db: Connection, recorded: Recorded, _event: DiskWasFull) -> None:
    record(db, full_disks, recorded, until=recorded.at)
