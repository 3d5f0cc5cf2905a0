"""Lets one run try, once a halted board has waited long enough."""

from datetime import datetime

from sqlalchemy import Engine

from bot.reactor import reactor
from ledger.events.board import BoardProbed
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.views import halts


def probe(engine: Engine, now: datetime) -> tuple[BoardId, ...]:
    """Record for each board whose wait is over that one run may try; return those boards."""
    with event_store.reading(engine) as db:
        if not halts.due(db, now):
            return ()
    with event_store.writing(engine) as db:
        due = halts.due(db, now)
        for halt in due:
            event_store.append(db, BoardProbed(halt.board_id, halt.cause), at=now)
        reactor.advance(db, now=now)
    return tuple(halt.board_id for halt in due)
