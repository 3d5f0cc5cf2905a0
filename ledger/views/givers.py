"""The moments of people's commands: nobody, and no automation in their name, may give them without end."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, func, select

from ledger.db.rows import columns, recorder
from ledger.db.tables import VIEWS
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


fold.on(CommandGiven)(recorder(givers))
