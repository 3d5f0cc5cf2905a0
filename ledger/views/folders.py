"""The files of runs without a repository, as each run left them: a folder's newest snapshot is in force."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, exists, select

from ledger.db.rows import columns, find, recorder
from ledger.db.tables import VIEWS
from ledger.events.workspace import FolderKept
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.run_modes import SCRATCH_BEGINS


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A snapshot of a folder; as in FolderKept."""

    seq: int
    folder: str
    run_id: RunId
    at: datetime
    commit: str
    bundle: str
    files: int
    size_bytes: int


folders = Table(
    "view_folders",
    VIEWS,
    *columns(SnapshotRow, "seq"),
    Index("view_folders_folder", "folder", "seq"),
    Index("view_folders_bundle", "bundle"),
)
fold = Fold()


def newest(db: Connection, folder: str) -> SnapshotRow | None:
    """Return the snapshot in force; None for a folder that no run has kept yet."""
    return find(db, SnapshotRow, folders, "-seq", folder=folder)


def is_snapshot(db: Connection, digest: str, since: datetime) -> bool:
    """Return whether a blob is a snapshot that is in force, or younger than that.

    What belongs to one card alone is kept as long as its other files.
    """
    mine, later = folders.c, folders.alias("later").c
    in_force = ~exists(select(later.seq).where(later.folder == mine.folder, later.seq > mine.seq))
    in_force &= ~mine.folder.startswith(SCRATCH_BEGINS)
    query = select(mine.seq).where(mine.bundle == digest, in_force | (mine.at >= since))
    return db.scalar(query.limit(1)) is not None


fold.on(FolderKept)(recorder(folders))
