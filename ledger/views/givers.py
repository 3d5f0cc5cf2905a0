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
from ledger.ids import BoardId, CardId
from ledger.views.cards import cards


@dataclass(frozen=True, slots=True)
class GiverRow:
    """One command about a card; `seq` is its event's."""

    seq: int
    card_id: CardId
    by: str
    at: datetime


givers = Table("view_givers", VIEWS, *columns(GiverRow, "seq"), Index("view_givers_by", "by", "at"))
fold = Fold()


def count_commands(db: Connection, board_id: BoardId, by: str, since: datetime) -> int:
    """Return the count of their commands on the board after `since`: no board uses up another's limit."""
    return int(_count.scalar(db, {"board_id": board_id, "by": by, "since": since}))


@statement
def _count(board_id: Any, by: Any, since: Any) -> Select[Any]:
    on_board = cards.c.board_id == board_id
    given = givers.join(cards, cards.c.card_id == givers.c.card_id)
    return select(func.count()).select_from(given).where(givers.c.by == by, givers.c.at > since, on_board)


fold.on(CommandGiven)(recorder(givers))
