"""When people gave commands, so that nobody, and no automation in their name, gives them without end."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, func, select

from ledger.db.rows import columns
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.conversation import CommandGiven
from ledger.fold import Fold


@dataclass(frozen=True, slots=True)
class GiverRow:
    """One command; `seq` is its event's."""

    seq: int
    by: str
    at: datetime


givers = Table("view_givers", VIEWS, *columns(GiverRow, "seq"), Index("view_givers_by", "by", "at"))
fold = Fold()


def count(db: Connection, by: str, since: datetime) -> int:
    """Return how many commands they gave after `since`."""
    return db.scalar(select(func.count()).where(givers.c.by == by, givers.c.at > since)) or 0


@fold.on(CommandGiven)
def _given(db: Connection, it: Recorded, event: CommandGiven) -> None:
    db.execute(givers.insert().values(seq=it.seq, by=event.by, at=it.at))
