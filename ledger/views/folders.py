"""The files of runs without a repository, as each run left them: a folder's newest snapshot is in force."""

from datetime import datetime

from sqlalchemy import Connection, Index, Table, exists, select

from ledger.db.rows import all_rows, columns, find, list_rows, pick, record, value
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.workspace import FolderKept, FolderRestored
from ledger.fold import Fold
from ledger.ids import BoardId, RunId
from ledger.model.run_modes import SCRATCH_BEGINS
from ledger.rows.folders import SnapshotRow
from ledger.rows.runs import RunRow
from ledger.views.runs import get, rename_folders, runs

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


def list_snapshots(db: Connection, folder: str, limit: int) -> tuple[SnapshotRow, ...]:
    """Return the folder's newest snapshots, newest first."""
    return list_rows(db, SnapshotRow, folders, "-seq", limit=limit, folder=folder)


def as_begun(db: Connection, run: RunRow) -> SnapshotRow | None:
    """Return the snapshot on which a run works; None for one that begins with nothing.

    A rerun has that of the run that it repeats, or what was in force when it was asked for.
    """
    past = get(db, run.again_of) if run.again_of else None
    if past is None:
        return newest(db, run.folder)
    mine, as_then = folders.c, bool(run.base_commit)
    if as_then and past.again_of:
        return as_begun(db, past)
    until = (past.ended_at if as_then else None) or run.queued_at
    query = pick(SnapshotRow, folders).where(mine.folder == past.folder, mine.at <= until)
    query = query.where(mine.run_id != past.run_id) if as_then else query
    return next(iter(all_rows(db, SnapshotRow, query.order_by(mine.seq.desc()).limit(1))), None)


def as_left_by(db: Connection, folder: str, run_id: str) -> SnapshotRow | None:
    """Return the snapshot that the run left there; None without one."""
    return find(db, SnapshotRow, folders, "seq", folder=folder, run_id=RunId(run_id))


def of_board(db: Connection, board_id: BoardId, limit: int) -> tuple[SnapshotRow, ...]:
    """Return the snapshots in force of the board's folders, in the order of their names."""
    later = folders.alias("later").c
    in_force = ~exists(select(later.seq).where(later.folder == folders.c.folder, later.seq > folders.c.seq))
    mine = folders.c.folder.startswith(f"{board_id}:", autoescape=True)
    query = pick(SnapshotRow, folders).where(mine, in_force).order_by(folders.c.folder).limit(limit)
    return all_rows(db, SnapshotRow, query)


def is_snapshot(db: Connection, digest: str, since: datetime) -> bool:
    """Return whether a blob is a snapshot that is in force, or younger than that.

    What belongs to one card alone is kept as long as its other files.
    """
    mine, later = folders.c, folders.alias("later").c
    in_force = ~exists(select(later.seq).where(later.folder == mine.folder, later.seq > mine.seq))
    in_force &= ~mine.folder.startswith(SCRATCH_BEGINS)
    query = select(mine.seq).where(mine.bundle == digest, in_force | (mine.at >= since))
    return db.scalar(query.limit(1)) is not None


@fold.on(FolderKept)
def _fold_folder_kept(db: Connection, recorded: Recorded, event: FolderKept) -> None:
    # The repository may have another name since the run was claimed.
    name = value(db, runs.c.folder, run_id=event.run_id) or event.folder
    record(db, folders, recorded, folder=name)


@fold.on(RepositoryMoved)
def _fold_repository_moved(db: Connection, _recorded: Recorded, event: RepositoryMoved) -> None:
    rename_folders(db, folders.c.folder, event)


@fold.on(FolderRestored)
def _fold_folder_restored(db: Connection, recorded: Recorded, event: FolderRestored) -> None:
    record(db, folders, recorded, run_id=event.source)
