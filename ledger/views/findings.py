"""The findings of each investigation, and which of its follow-ups became cards."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, Table

from ledger import codec
from ledger.db.rows import columns, find, first_row, keep, list_rows, pick, recorder, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.findings import FindingsReported, FollowUpMade
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.rows.findings import FollowUpRow
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class FindingsRow:
    """The findings of a run, as the body of their event."""

    run_id: RunId
    body: str


findings = Table("view_findings", VIEWS, *columns(FindingsRow, "run_id"))
follow_ups = Table("view_follow_ups", VIEWS, *columns(FollowUpRow, "run_id", "proposal"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> FindingsReported | None:
    """Return the run's findings; None before its report, and for a run that is no investigation."""
    row = find(db, FindingsRow, findings, run_id=run_id)
    return _read(row) if row else None


def newest(db: Connection, card_id: CardId) -> FindingsReported | None:
    query = (
        pick(FindingsRow, findings)
        .join(runs, runs.c.run_id == findings.c.run_id)
        .where(runs.c.card_id == card_id)
    )
    row = first_row(db, FindingsRow, query.order_by(runs.c.serial.desc()).limit(1))
    return _read(row) if row else None


def follow_ups_made(db: Connection, run_id: RunId) -> dict[int, FollowUpRow]:
    """Return the run's follow-ups that became issues, by their numbers."""
    return {row.proposal: row for row in list_rows(db, FollowUpRow, follow_ups, run_id=run_id)}


def _read(row: FindingsRow) -> FindingsReported:
    return cast("FindingsReported", codec.decode(FindingsReported.__name__, row.body))


@fold.on(FindingsReported)
def _fold_findings_reported(db: Connection, _recorded: Recorded, event: FindingsReported) -> None:
    keep(db, findings, {"run_id": event.run_id}, {"body": codec.encode(event)[1]})


fold.on(FollowUpMade)(recorder(follow_ups))
fold.on(RepositoryMoved)(setter(follow_ups, lambda event: {"repository": event.after}, repository="before"))
