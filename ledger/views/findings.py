"""What each investigation found, and which of its follow-ups became cards."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, Table

from ledger import codec
from ledger.db.rows import columns, keep, many, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.findings import FindingsReported, FollowUpMade
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class FindingsRow:
    """The findings of a run, as the body of their event."""

    run_id: RunId
    body: str


@dataclass(frozen=True, slots=True)
class FollowUpRow:
    """A follow-up that became an issue."""

    run_id: RunId
    proposal: int
    repository: str
    number: int


findings = Table("view_findings", VIEWS, *columns(FindingsRow, "run_id"))
follow_ups = Table("view_follow_ups", VIEWS, *columns(FollowUpRow, "run_id", "proposal"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> FindingsReported | None:
    """Return what the run found; None before it said so, and for a run that is no investigation."""
    row = one(db, FindingsRow, pick(FindingsRow, findings).where(findings.c.run_id == run_id))
    return _read(row) if row else None


def newest(db: Connection, card_id: CardId) -> FindingsReported | None:
    """Return what the card's newest investigation found; None without one."""
    query = (
        pick(FindingsRow, findings)
        .join(runs, runs.c.run_id == findings.c.run_id)
        .where(runs.c.card_id == card_id)
    )
    row = one(db, FindingsRow, query.order_by(runs.c.serial.desc()).limit(1))
    return _read(row) if row else None


def follow_ups_made(db: Connection, run_id: RunId) -> dict[int, FollowUpRow]:
    """Return the run's follow-ups that became issues, by their numbers."""
    found = many(db, FollowUpRow, pick(FollowUpRow, follow_ups).where(follow_ups.c.run_id == run_id))
    return {row.proposal: row for row in found}


def _read(row: FindingsRow) -> FindingsReported:
    return cast("FindingsReported", codec.decode(FindingsReported.__name__, row.body))


@fold.on(FindingsReported)
def _reported(db: Connection, _it: Recorded, event: FindingsReported) -> None:
    keep(db, findings, {"run_id": event.run_id}, {"body": codec.encode(event)[1]})


@fold.on(FollowUpMade)
def _made(db: Connection, _it: Recorded, event: FollowUpMade) -> None:
    issue = {"repository": event.repository, "number": event.number}
    keep(db, follow_ups, {"run_id": event.run_id, "proposal": event.proposal}, issue)
