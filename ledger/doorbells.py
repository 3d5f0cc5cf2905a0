"""Doorbells: a board delivery says *look at this card*; those that wait together are answered by one look."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, select

from ledger.ids import BoardId, CardId
from ledger.rows import keep, many, pick
from ledger.tables import doorbells


@dataclass(frozen=True, slots=True)
class Doorbell:
    """A card that waits to be looked at: answer it with the `rung` that is given here."""

    card_id: CardId
    board_id: BoardId
    rung: int
    answered: int
    rung_at: datetime


def ring(db: Connection, card_id: CardId, board_id: BoardId, now: datetime) -> int:
    """Count one more ring and return the count. `rung_at` is that of the first ring not yet answered."""
    count, done = rung(db, card_id)
    values: dict[str, object] = {"board_id": board_id, "rung": count + 1}
    if count == done:
        values["rung_at"] = now
    keep(db, doorbells, {"card_id": card_id}, values if count else {**values, "answered": 0})
    return count + 1


def answered(db: Connection, card_id: CardId, upto: int) -> None:
    """Remember that the card was looked at after ring number `upto`; an older answer changes nothing."""
    later = case((doorbells.c.answered < upto, upto), else_=doorbells.c.answered)
    db.execute(doorbells.update().where(doorbells.c.card_id == card_id).values(answered=later))


def rung(db: Connection, card_id: CardId) -> tuple[int, int]:
    """Return how often the card was rung and up to which ring it was answered."""
    row = db.execute(
        select(doorbells.c.rung, doorbells.c.answered).where(doorbells.c.card_id == card_id)
    ).first()
    return (0, 0) if row is None else (row.rung, row.answered)


def waiting(db: Connection, limit: int) -> tuple[Doorbell, ...]:
    """Return at most `limit` cards with an unanswered ring, the longest waiting first."""
    query = pick(Doorbell, doorbells).where(doorbells.c.rung > doorbells.c.answered)
    return many(db, Doorbell, query.order_by(doorbells.c.rung_at).limit(limit))
