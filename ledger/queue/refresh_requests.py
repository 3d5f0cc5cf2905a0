"""Refresh requests: a board delivery says *read this card*; one read answers all that wait.

One thing a look cannot see: that a card left its column and came back. Deliveries tell of moves, so a
doorbell keeps those that are not recorded yet.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, select

from ledger.db.column_types import moment_of, stamp
from ledger.db.rows import all_rows, change, keep, pick
from ledger.db.tables import refresh_requests
from ledger.ids import BoardId, CardId

MAX_MOVES = 20  # of a card's newest moves: only the newest of all decides


@dataclass(frozen=True, slots=True)
class Move:
    """A move as a delivery tells of it: to the column with the option id `to`, empty for none.

    `at` is GitHub's time, in whole seconds.
    """

    at: datetime
    to: str


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """A card that waits to be looked at: answer it with the `rung` that is given here."""

    card_id: CardId
    board_id: BoardId
    rung: int
    answered: int
    rung_at: datetime


def add(
    db: Connection, card_id: CardId, board_id: BoardId, now: datetime, reported: Move | None = None
) -> int:
    """Count one more ring and return the count. `rung_at` is that of the first ring not yet answered."""
    count, done = counts(db, card_id)
    values: dict[str, object] = {"board_id": board_id, "rung": count + 1}
    if count == done:
        values["rung_at"] = now
    if reported is not None:
        moves = [*_unrecorded_moves(db, card_id), reported][-MAX_MOVES:]
        values["told"] = json.dumps([(stamp(move.at), move.to) for move in moves])
    keep(db, refresh_requests, {"card_id": card_id}, values if count else {**_NEW, "rung_at": now, **values})
    return count + 1


_NEW = {"rung": 0, "answered": 0, "told": ""}


def came_to(db: Connection, card_id: CardId, option_id: str) -> datetime | None:
    """Return when the card came to that column, by its newest move that is not recorded; None without one."""
    moves = _unrecorded_moves(db, card_id)
    last = max((move.at for move in moves), default=None)
    return last if any(move.at == last and move.to == option_id for move in moves) else None


def mark_recorded(db: Connection, card_id: CardId, board_id: BoardId, upto: datetime) -> None:
    """Remember that the card's moves up to that time are events: later deliveries of them are no news."""
    known = select(refresh_requests.c.recorded_at).where(refresh_requests.c.card_id == card_id)
    row = db.execute(known).first()
    if row is None:
        values = {**_NEW, "board_id": board_id, "rung_at": upto, "recorded_at": upto}
        keep(db, refresh_requests, {"card_id": card_id}, values)
    elif row.recorded_at is None or row.recorded_at < upto:
        change(db, refresh_requests, {"card_id": card_id}, recorded_at=upto)


def _unrecorded_moves(db: Connection, card_id: CardId) -> tuple[Move, ...]:
    """Return the moves that deliveries name and that are not recorded, in their order of arrival."""
    query = select(refresh_requests.c.told, refresh_requests.c.recorded_at).where(
        refresh_requests.c.card_id == card_id
    )
    row = db.execute(query).first()
    if row is None or not row.told:
        return ()
    moves = (Move(moment_of(at), to) for at, to in json.loads(row.told))
    return tuple(move for move in moves if row.recorded_at is None or move.at > row.recorded_at)


def mark_served(db: Connection, card_id: CardId, upto: int) -> None:
    """Remember that the card was looked at after ring number `upto`; an older answer changes nothing."""
    later = case((refresh_requests.c.answered < upto, upto), else_=refresh_requests.c.answered)
    change(db, refresh_requests, {"card_id": card_id}, answered=later)


def counts(db: Connection, card_id: CardId) -> tuple[int, int]:
    """Return how often the card was rung and up to which ring it was answered."""
    query = select(refresh_requests.c.rung, refresh_requests.c.answered)
    row = db.execute(query.where(refresh_requests.c.card_id == card_id)).first()
    return (0, 0) if row is None else (row.rung, row.answered)


def waiting(db: Connection, limit: int) -> tuple[RefreshRequest, ...]:
    """Return at most `limit` cards with an unanswered ring, the longest waiting first."""
    query = pick(RefreshRequest, refresh_requests).where(
        refresh_requests.c.rung > refresh_requests.c.answered
    )
    return all_rows(db, RefreshRequest, query.order_by(refresh_requests.c.rung_at).limit(limit))
