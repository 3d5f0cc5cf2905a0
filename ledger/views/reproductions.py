"""The reproductions of each run in a browser, and their outcomes."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, list_rows, record, recorder
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.reproduction import ReproductionPlayed, ReproductionSkipped
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class ReproductionRow:
    """One reproduction; `phase` is empty where nothing was played, and `said` says why."""

    seq: int
    run_id: RunId
    said: str
    at: datetime
    phase: str = ""
    head: str = ""
    outcome: str = ""
    steps: tuple[str, ...] = ()
    step: int = 0
    error_count: int = 0
    kept: tuple[str, ...] = ()


reproductions = Table("view_reproductions", VIEWS, *columns(ReproductionRow, "run_id", "seq", long=("said",)))
fold = Fold()


def of_run(db: Connection, run_id: RunId) -> tuple[ReproductionRow, ...]:
    """Return the run's reproductions, the oldest first."""
    return list_rows(db, ReproductionRow, reproductions, "seq", run_id=run_id)


fold.on(ReproductionPlayed)(recorder(reproductions))


@fold.on(ReproductionSkipped)
def _fold_reproduction_skipped(db: Connection, recorded: Recorded, event: ReproductionSkipped) -> None:
    record(db, reproductions, recorded, said=event.why)
