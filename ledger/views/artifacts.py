"""The artifacts of every run: those in the store, and those that were dropped from it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, func, select

from ledger.db.rows import all_rows, columns, list_rows, pick, record, recorder
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.artifact import OPERATORS, SET_ASIDE_NAME, ArtifactDropped, ArtifactKept
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.states import RunState
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """One artifact. `dropped` is why it is not in the store, empty while it is; see ArtifactDropped."""

    seq: int
    run_id: RunId
    name: str
    kind: str
    digest: str
    size_bytes: int
    at: datetime
    dropped: str = ""

    @property
    def is_for_readers(self) -> bool:
        """Whether anyone who may read the run's repositories may read it; else the operator alone."""
        return self.kind not in OPERATORS and self.name != SET_ASIDE_NAME


artifacts = Table(
    "view_artifacts",
    VIEWS,
    *columns(ArtifactRow, "run_id", "seq"),
    Index("view_artifacts_digest", "digest"),
    Index("view_artifacts_at", "dropped", "at"),
)
fold = Fold()
_KEPT = artifacts.c.dropped == ""


def of_run(db: Connection, run_id: RunId) -> tuple[ArtifactRow, ...]:
    """Return the run's artifacts in the order in which they were kept."""
    return list_rows(db, ArtifactRow, artifacts, "seq", run_id=run_id)


def is_kept(db: Connection, digest: str) -> bool:
    """Return whether some run still has the file in the store."""
    return db.scalar(select(func.count()).where(artifacts.c.digest == digest, _KEPT)) != 0


def total_bytes(db: Connection) -> int:
    """Return how much the store holds; a file that several runs have counts once."""
    once = select(func.max(artifacts.c.size_bytes).label("size")).where(_KEPT).group_by(artifacts.c.digest)
    return int(db.scalar(select(func.coalesce(func.sum(once.subquery().c.size), 0))) or 0)


def oldest(db: Connection, limit: int, before: datetime | None = None) -> tuple[ArtifactRow, ...]:
    """Return the oldest artifacts of runs that have ended; with `before` only those older than that."""
    query = pick(ArtifactRow, artifacts).join(runs, runs.c.run_id == artifacts.c.run_id)
    query = query.where(_KEPT, runs.c.state == RunState.ENDED)
    if before is not None:
        query = query.where(artifacts.c.at < before)
    return all_rows(db, ArtifactRow, query.order_by(artifacts.c.at, artifacts.c.seq).limit(limit))


fold.on(ArtifactKept)(recorder(artifacts))


@fold.on(ArtifactDropped)
def _fold_artifact_dropped(db: Connection, recorded: Recorded, event: ArtifactDropped) -> None:
    condition = (artifacts.c.run_id == event.run_id) & (artifacts.c.digest == event.digest)
    db.execute(artifacts.update().where(condition, _KEPT).values(dropped=event.reason))
    named = select(func.count()).where(condition, artifacts.c.name == event.name)
    if not db.scalar(named):  # it was never kept: its row shows people why
        record(db, artifacts, recorded, dropped=event.reason)
