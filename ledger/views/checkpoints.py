"""The newest checkpoint of each run's work in the store."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, or_, select

from ledger.db.rows import columns, find, recorder
from ledger.db.tables import VIEWS
from ledger.events.workspace import Checkpointed
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.states import RunState
from ledger.views.runs import runs
from ledger.views.workspaces import workspaces


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """The newest checkpoint of a run; as in Checkpointed."""

    run_id: RunId
    seq: int
    at: datetime
    place: str
    generation: int
    host: str
    head: str
    files: str
    bundle: str
    session: str
    patch: str
    refs: tuple[str, ...]
    stood_on: str
    left_out: tuple[str, ...]
    files_changed: int
    uncommitted: tuple[str, ...] = ()
    uncommitted_files: int = 0
    disk_bytes: int = 0


checkpoints = Table("view_checkpoints", VIEWS, *columns(CheckpointRow, "run_id"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> CheckpointRow | None:
    return find(db, CheckpointRow, checkpoints, run_id=run_id)


def of_place(db: Connection, place: str) -> CheckpointRow | None:
    """Return the newest checkpoint of a workspace, of any run."""
    return find(db, CheckpointRow, checkpoints, "-seq", place=place)


def is_in_checkpoint(db: Connection, digest: str, since: datetime) -> bool:
    """Return whether a blob belongs to a run that has not ended, or whose checkpoint is younger than that.

    So does one whose workspace was removed since then because somebody asked: the next run continues from it.
    """
    held = checkpoints.c
    named = or_(held.bundle == digest, held.session == digest, held.patch == digest)
    cleaned = held.run_id.in_(select(workspaces.c.cleaned_run).where(workspaces.c.cleaned_at >= since))
    alive = or_(held.at >= since, runs.c.state != RunState.ENDED, cleaned)
    query = select(held.seq).join(runs, runs.c.run_id == held.run_id).where(named, alive)
    return db.scalar(query.limit(1)) is not None


fold.on(Checkpointed)(recorder(checkpoints))
