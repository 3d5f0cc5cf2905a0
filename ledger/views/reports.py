"""The final report of each run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.run import CriterionTest, FinalReported
from ledger.fold import Fold
from ledger.ids import RunId
from ledger.model.metadata import Metadata


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The work done, the changes, points to check, open questions, tests for criteria, and metadata."""

    run_id: RunId
    done: str
    changed: tuple[str, ...]
    check: tuple[str, ...]
    open_questions: tuple[str, ...]
    at: datetime
    criteria: tuple[CriterionTest, ...] = ()
    metadata: Metadata = field(default_factory=dict, hash=False)


reports = Table("view_reports", VIEWS, *columns(ReportRow, "run_id"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> ReportRow | None:
    return find(db, ReportRow, reports, run_id=run_id)


def of_runs(db: Connection, run_ids: Iterable[RunId]) -> dict[RunId, ReportRow]:
    return {row.run_id: row for row in list_rows(db, ReportRow, reports, run_id=tuple(run_ids))}


fold.on(FinalReported)(recorder(reports))
