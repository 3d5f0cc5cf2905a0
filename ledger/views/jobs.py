"""Cards that programs asked for: each request with its outcome."""

from datetime import datetime

from sqlalchemy import Connection, Index, Table, func, select

from ledger.db.rows import change, columns, fields_for, find, keep, list_rows, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.job import JobMade, JobRequested
from ledger.events.publication import EntryGivenUp
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows.jobs import JobRow

ACT = "create_job"


jobs = Table("view_jobs", VIEWS, *columns(JobRow, "key"))
Index("view_jobs_card", jobs.c.card_id)
Index("view_jobs_user", jobs.c.user_id, jobs.c.at)
fold = Fold()


def request_key(request: str) -> str:
    return f"job:{request}"


def get(db: Connection, key: str) -> JobRow | None:
    return find(db, JobRow, jobs, key=key)


def of_card(db: Connection, card_id: CardId) -> JobRow | None:
    return find(db, JobRow, jobs, "key", card_id=card_id)


def author_of(db: Connection, card_id: CardId, author: str) -> str:
    """Return who wrote the card's title and description: a person who asked for its issue outside GitHub,
    else the issue's `author`.
    """
    job = of_card(db, card_id)
    return job.by if job is not None and job.user_id else author


def count_since(db: Connection, user_id: int, since: datetime) -> int:
    """Return the count of an account's requests since then."""
    condition = (jobs.c.user_id == user_id) & (jobs.c.at > since)
    return db.scalar(select(func.count()).select_from(jobs).where(condition)) or 0


def list_requested_since(db: Connection, user_id: int, since: datetime) -> tuple[JobRow, ...]:
    return tuple(row for row in list_rows(db, JobRow, jobs, "at", user_id=user_id) if row.at > since)


@fold.on(JobRequested)
def _fold_job_requested(db: Connection, recorded: Recorded, event: JobRequested) -> None:
    keep(db, jobs, {"key": event.key}, {"at": recorded.at, **fields_for(jobs, event)})


@fold.on(JobMade)
def _fold_job_made(db: Connection, _recorded: Recorded, event: JobMade) -> None:
    change(db, jobs, {"key": event.key}, number=event.number, card_id=event.card_id)


@fold.on(EntryGivenUp)
def _fold_entry_given_up(db: Connection, _recorded: Recorded, event: EntryGivenUp) -> None:
    if event.act == ACT:
        change(db, jobs, {"key": event.key.removeprefix(request_key(""))}, problem=event.because)


fold.on(RepositoryMoved)(setter(jobs, lambda event: {"repository": event.after}, repository="before"))
