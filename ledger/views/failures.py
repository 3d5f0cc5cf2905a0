"""Events that the rules could not decide: skipped, and stored for whoever mends Cardinal."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, func, select

from ledger.db.rows import all_rows, columns, pick, record
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import DecisionFailed
from ledger.fold import Fold
from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class FailureRow:
    """An event `failed` of the kind `of` that was not decided; `seq` is that of its DecisionFailed."""

    seq: int
    card_id: CardId
    failed: int
    of: str
    because: str
    at: datetime


failures = Table("view_failures", VIEWS, *columns(FailureRow, "seq"))
fold = Fold()


def newest(db: Connection, limit: int) -> tuple[FailureRow, ...]:
    return all_rows(db, FailureRow, pick(FailureRow, failures).order_by(failures.c.seq.desc()).limit(limit))


def count_failures(db: Connection) -> int:
    """Return how many events were skipped."""
    return db.scalar(select(func.count()).select_from(failures)) or 0


@fold.on(DecisionFailed)
def _fold_decision_failed(db: Connection, recorded: Recorded, event: DecisionFailed) -> None:
    record(db, failures, recorded, failed=event.seq)
