"""Lets one run try, once a halted board has waited long enough."""

from datetime import datetime

from sqlalchemy import Engine

from bot import react
from ledger import book
from ledger.events.board import BoardProbed
from ledger.ids import BoardId
from ledger.views import halts


def probe(engine: Engine, now: datetime) -> tuple[BoardId, ...]:
    """Record for each board whose wait is over that one run may try; return those boards."""
    with book.reading(engine) as db:
        if not halts.due(db, now):
            return ()
    with book.writing(engine) as db:
        due = halts.due(db, now)
        for halt in due:
            book.append(db, BoardProbed(halt.board_id, halt.cause), at=now)
        react.advance(db, now=now)
    return tuple(halt.board_id for halt in due)
