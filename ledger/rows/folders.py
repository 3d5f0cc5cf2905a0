"""The kept files of runs without a repository, as rules read them."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """The files of a folder as `run_id` left them, in force from `at`; `by` is who restored them then."""

    seq: int
    folder: str
    run_id: RunId
    at: datetime
    commit: str
    bundle: str
    files: int
    size_bytes: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder with its newest snapshots, newest first; `writer` is the run that works in it, or empty."""

    folder: str
    snapshots: tuple[SnapshotRow, ...]
    writer: str = ""
