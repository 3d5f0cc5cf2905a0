"""Checkpoints in the store: the newest of each run's work, and those at which another run can begin."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, Table, or_, select

from ledger.db.rows import change, columns, find, insert, list_rows, record
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.branch import RunChosen
from ledger.events.run import RunQueued
from ledger.events.workspace import Checkpointed
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.states import RunState
from ledger.views.runs import runs
from ledger.views.workspaces import workspaces

NEWEST = "newest"
ORIGIN = "origin"  # where a fork began: another run's, which stays in the store as long as the fork's own


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint of a run; as in Checkpointed. `point`: the newest of all, the newest at that point, or of
    a fork the one that it began with.
    """

    run_id: RunId
    point: str
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


checkpoints = Table("view_checkpoints", VIEWS, *columns(CheckpointRow, "run_id", "point"))
fold = Fold()


def get(db: Connection, run_id: RunId, point: str = NEWEST) -> CheckpointRow | None:
    """Return the run's newest checkpoint of all, or at that point."""
    return find(db, CheckpointRow, checkpoints, run_id=run_id, point=point)


def of_place(db: Connection, place: str) -> CheckpointRow | None:
    """Return the newest checkpoint of a workspace, of any run."""
    return find(db, CheckpointRow, checkpoints, "-seq", place=place, point=NEWEST)


def list_points(db: Connection, run_id: RunId) -> tuple[str, ...]:
    """Return the points at which another run can begin, the newest first."""
    rows = list_rows(db, CheckpointRow, checkpoints, "-seq", run_id=run_id)
    return tuple(row.point for row in rows if row.point not in (NEWEST, ORIGIN))


def is_in_checkpoint(db: Connection, digest: str, since: datetime) -> bool:
    """Return whether a blob belongs to a run that has not ended, or to a checkpoint younger than that.

    So does one whose workspace was removed since then because somebody asked: the next run continues from it.
    """
    held = checkpoints.c
    named = or_(held.bundle == digest, held.session == digest, held.patch == digest)
    cleaned = held.run_id.in_(select(workspaces.c.cleaned_run).where(workspaces.c.cleaned_at >= since))
    alive = or_(held.at >= since, runs.c.state != RunState.ENDED, cleaned)
    query = select(held.seq).join(runs, runs.c.run_id == held.run_id).where(named, alive)
    return db.scalar(query.limit(1)) is not None


@fold.on(Checkpointed)
def _fold_checkpointed(db: Connection, recorded: Recorded, event: Checkpointed) -> None:
    record(db, checkpoints, recorded, point=NEWEST)
    if event.point:
        record(db, checkpoints, recorded, point=event.point)


@fold.on(RunQueued)
def _fold_queued(db: Connection, _recorded: Recorded, event: RunQueued) -> None:
    origin = get(db, event.again_of, event.forked_at) if event.forked_at else None
    if origin is not None:
        insert(db, checkpoints, asdict(replace(origin, run_id=event.run_id, point=ORIGIN)))


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, recorded: Recorded, event: RunChosen) -> None:
    """Let the card's next run find it: its newest checkpoint is that of the card's workspace now."""
    mine = {"run_id": event.run_id, "point": NEWEST}
    change(db, checkpoints, mine, place=event.card_id, seq=recorded.seq)
