"""What was played in a browser for each run, and how it went."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, many, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.reproduction import ReproductionPlayed, ReproductionSkipped
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class ReproductionRow:
    """One time that the steps were played; `phase` is empty where they were not, and `said` why then."""

    seq: int
    run_id: RunId
    phase: str
    head: str
    outcome: str
    steps: tuple[str, ...]
    step: int
    said: str
    error_count: int
    kept: tuple[str, ...]
    at: datetime


reproductions = Table("view_reproductions", VIEWS, *columns(ReproductionRow, "run_id", "seq", long=("said",)))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[ReproductionRow, ...]:
    """Return what was played for the run, the oldest first."""
    query = pick(ReproductionRow, reproductions).where(reproductions.c.run_id == run_id)
    return many(db, ReproductionRow, query.order_by(reproductions.c.seq))


@fold.on(ReproductionPlayed)
def _played(db: Connection, it: Recorded, event: ReproductionPlayed) -> None:
    names = ("run_id", "phase", "head", "outcome", "steps", "step", "said", "error_count", "kept")
    seen = {name: getattr(event, name) for name in names}
    db.execute(reproductions.insert().values(seq=it.seq, at=it.at, **seen))


@fold.on(ReproductionSkipped)
def _skipped(db: Connection, it: Recorded, event: ReproductionSkipped) -> None:
    nothing = {"phase": "", "head": "", "outcome": "", "steps": (), "step": 0, "error_count": 0, "kept": ()}
    db.execute(
        reproductions.insert().values(seq=it.seq, at=it.at, run_id=event.run_id, said=event.why, **nothing)
    )
