"""Queries over all runs of a card: their beginnings, those that only check, those that succeeded."""

from datetime import datetime

from sqlalchemy import Connection, select

from ledger.db.rows import all_rows, pick
from ledger.events.run import CHECK
from ledger.ids import CardId
from ledger.states import Ending
from ledger.views.runs import RunRow, runs


def begun(db: Connection, card_id: CardId, limit: int) -> tuple[datetime, ...]:
    """Return when the card's newest attempts were queued, the newest first."""
    query = select(runs.c.queued_at).where(runs.c.card_id == card_id, runs.c.kind != CHECK)
    return tuple(db.scalars(query.order_by(runs.c.serial.desc()).limit(limit)))


def checking(db: Connection, card_id: CardId, limit: int) -> tuple[RunRow, ...]:
    """Return the card's newest runs that only check, newest first."""
    query = pick(RunRow, runs).where(runs.c.card_id == card_id, runs.c.kind == CHECK)
    return all_rows(db, RunRow, query.order_by(runs.c.serial.desc()).limit(limit))


def served_since(db: Connection, card_id: CardId, asked_at: datetime) -> bool:
    """Tell whether a run of the card that changes code was queued then or later, and succeeded."""
    mine = (runs.c.card_id == card_id) & (runs.c.mode == "fix") & (runs.c.kind != CHECK)
    ended = mine & (runs.c.ending == Ending.SUCCEEDED) & (runs.c.queued_at >= asked_at)
    return db.scalar(select(runs.c.run_id).where(ended).limit(1)) is not None
