"""Review threads that people with write access opened, and the runs that answered them."""

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import columns, count, drop, fields_for, find, list_rows, record, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.branch import RunChosen
from ledger.events.pull import ReviewSubmitted
from ledger.events.run import ThreadAnswered
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows.threads import ThreadRow

threads = Table(
    "view_threads",
    VIEWS,
    *columns(ThreadRow, "thread_id", "card_id"),
    Index("view_threads_card", "card_id", "seq"),
)
fold = Fold()


def get(db: Connection, thread_id: str) -> ThreadRow | None:
    """Return the thread; None when it is unknown or nobody trusted opened it."""
    return find(db, ThreadRow, threads, thread_id=thread_id)


def pending(db: Connection, card_id: CardId) -> tuple[ThreadRow, ...]:
    """Return the card's threads that no run has addressed, the oldest first."""
    return list_rows(db, ThreadRow, threads, "seq", "thread_id", card_id=card_id, answered_by=None)


def pending_count(db: Connection, card_id: CardId) -> int:
    """Return how many of the card's threads no run has addressed."""
    return count(db, threads, card_id=card_id, answered_by=None)


@fold.on(ReviewSubmitted)
def _fold_review_submitted(db: Connection, recorded: Recorded, event: ReviewSubmitted) -> None:
    if not event.trusted:
        return
    for thread in event.threads:
        record(db, threads, recorded, **fields_for(threads, thread))


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    drop(db, threads, card_id=event.card_id, answered_by=None)  # they are about another change


def _reply(event: ThreadAnswered) -> dict[str, object]:
    return {"answered_by": event.run_id if event.addressed else None, "answer": event.text}


fold.on(ThreadAnswered)(setter(threads, _reply, "thread_id"))
