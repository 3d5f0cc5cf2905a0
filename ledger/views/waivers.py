"""The commits without checks, as the policy wanted."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, select

from ledger.db.rows import columns, recorder
from ledger.db.tables import VIEWS
from ledger.events.bounds import ValidationWaived
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class WaiverRow:
    """One commit of a run on which nothing was checked."""

    seq: int
    run_id: RunId
    head: str
    base: str
    definition: str
    at: datetime


waivers = Table("view_waivers", VIEWS, *columns(WaiverRow, "run_id", "seq"))
fold = Fold()


def covers(db: Connection, run_id: RunId, head: str) -> bool:
    """Tell whether the run's commit went unchecked on purpose."""
    mine = (waivers.c.run_id == run_id) & (waivers.c.head == head)
    return db.scalar(select(waivers.c.seq).where(mine)) is not None


fold.on(ValidationWaived)(recorder(waivers))
