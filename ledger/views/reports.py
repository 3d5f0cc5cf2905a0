"""The final report of each run."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, many, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.run import FinalReported
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What was done, what changed, what to check, what is open."""

    run_id: RunId
    done: str
    changed: tuple[str, ...]
    check: tuple[str, ...]
    open_questions: tuple[str, ...]
    at: datetime


reports = Table("view_reports", VIEWS, *columns(ReportRow, "run_id"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> ReportRow | None:
    """Return the run's report; None before there is one."""
    return one(db, ReportRow, pick(ReportRow, reports).where(reports.c.run_id == run_id))


def of_runs(db: Connection, run_ids: Iterable[RunId]) -> dict[RunId, ReportRow]:
    """Return the reports of those runs that have one."""
    query = pick(ReportRow, reports).where(reports.c.run_id.in_(tuple(run_ids)))
    return {row.run_id: row for row in many(db, ReportRow, query)}


@fold.on(FinalReported)
def _reported(db: Connection, it: Recorded, event: FinalReported) -> None:
    said = {"done": event.done, "changed": event.changed, "check": event.check}
    keep(db, reports, {"run_id": event.run_id}, {**said, "open_questions": event.open_questions, "at": it.at})
