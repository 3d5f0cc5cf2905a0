"""The moments of people's commands: nobody, and no automation in their name, may give them without end."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Index, Select, Table, func, select

from ledger.db.rows import columns, recorder
from ledger.db.statements import statement
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
    """Return the count of their commands after `since`."""
    return int(_count.scalar(db, {"by": by, "since": since}))


@statement
def _count(by: Any, since: Any) -> Select[Any]:
    return select(func.count()).where(givers.c.by == by, givers.c.at > since)


fold.on(CommandGiven)(recorder(givers))
