"""Refresh requests: a board delivery says *read this card*; one read answers all that wait.

One thing a read cannot see: that a card left its column and came back. Deliveries report moves, so a
request keeps those that are not recorded yet.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, Update, func, select

from ledger.db.clock import database_now
from ledger.db.column_types import moment_of, stamp
from ledger.db.rows import all_rows, change, find, insert, keep, pick, value
from ledger.db.statements import Statement, statement
from ledger.db.tables import refresh_requests
from ledger.ids import BoardId, CardId

MAX_MOVES = 20  # of a card's newest moves: only the newest of all decides


@dataclass(frozen=True, slots=True)
class Move:
    """A move as a delivery reports it: to the column with the option id `to`, empty for none.

    `at` is GitHub's time, in whole seconds.
    """

    at: datetime
    to: str


@dataclass(frozen=True, slots=True)
class RefreshRequest:
    """A card that waits to be read: its read answers the first `requested` requests."""

    card_id: CardId
    board_id: BoardId
    requested: int
    served: int
    requested_at: datetime


@statement
def _select_reported(card_id: Any) -> Select[Any]:
    """Select the moves that deliveries name, as JSON, and up to when moves are recorded."""
    query = select(refresh_requests.c.moves, refresh_requests.c.recorded_at)
    return query.where(refresh_requests.c.card_id == card_id)


def board_of(db: Connection, card_id: CardId) -> BoardId | None:
    board_id: BoardId | None = value(db, refresh_requests.c.board_id, card_id=card_id)
    return board_id


def add(db: Connection, card_id: CardId, board_id: BoardId, reported: Move | None = None) -> int:
    """Count one more request and return the count.

    `requested_at` is that of the first request not yet answered, by the database's clock.
    """
    count, done, now = *counts(db, card_id), database_now(db)
    values: dict[str, object] = {"board_id": board_id, "requested": count + 1}
    if count == done:
        values["requested_at"] = now
    if reported is not None:
        moves = [*_list_unrecorded_moves(db, card_id), reported][-MAX_MOVES:]
        values["moves"] = json.dumps([(stamp(move.at), move.to) for move in moves])
    keep(db, refresh_requests, {"card_id": card_id}, values if count else {**_new(now), **values})
    return count + 1


def _new(now: datetime) -> dict[str, object]:
    return {"requested": 0, "requested_at": now, "served": 0, "moves": ""}


def came_to(db: Connection, card_id: CardId, option_id: str) -> datetime | None:
    """Return when the card came to that column, by its newest move that is not recorded; None without one."""
    moves = _list_unrecorded_moves(db, card_id)
    last = max((move.at for move in moves), default=None)
    return last if any(move.at == last and move.to == option_id for move in moves) else None


def last_recorded_at(db: Connection, card_id: CardId) -> datetime | None:
    """Return up to when the card's moves are events, by GitHub's clock; None before the first."""
    at: datetime | None = value(db, refresh_requests.c.recorded_at, card_id=card_id)
    return at


def mark_recorded(db: Connection, card_id: CardId, board_id: BoardId, upto: datetime) -> None:
    """Remember that the card's moves up to that time are events: later deliveries of them are no news."""
    row = _select_reported.first(db, {"card_id": card_id})
    if row is None:
        values = {"card_id": card_id, "board_id": board_id, "recorded_at": upto}
        insert(db, refresh_requests, {**_new(upto), **values})
    elif row[1] is None or row[1] < upto:
        change(db, refresh_requests, {"card_id": card_id}, recorded_at=upto)


def _list_unrecorded_moves(db: Connection, card_id: CardId) -> tuple[Move, ...]:
    """Return the moves that deliveries name and that are not recorded, in their order of arrival."""
    moves, recorded_at = _select_reported.first(db, {"card_id": card_id}) or ("", None)
    named = (Move(moment_of(at), to) for at, to in json.loads(moves or "[]"))
    return tuple(move for move in named if recorded_at is None or move.at > recorded_at)


def mark_served(db: Connection, card_id: CardId, upto: int) -> None:
    """Remember that the card was looked at after request number `upto`; an older answer changes nothing."""
    _serve.run(db, {"card_id": card_id, "upto": upto})


def counts(db: Connection, card_id: CardId) -> tuple[int, int]:
    """Return how many requests there were for the card, and up to which they are answered."""
    row = find(db, RefreshRequest, refresh_requests, card_id=card_id)
    return (0, 0) if row is None else (row.requested, row.served)


def open_since(db: Connection, card_id: CardId) -> datetime | None:
    """Return when the first unanswered request for the card came; None without one."""
    row = find(db, RefreshRequest, refresh_requests, card_id=card_id)
    return None if row is None or row.requested == row.served else row.requested_at


def list_requested_cards(
    db: Connection, limit: int, but: Collection[BoardId] = ()
) -> tuple[RefreshRequest, ...]:
    """Return at most `limit` cards with an unanswered request, the longest waiting first.

    None of the boards in `but`.
    """
    if not but:
        return all_rows(db, RefreshRequest, _waiting, most=limit)
    others = refresh_requests.c.board_id.not_in(tuple(but))
    return all_rows(db, RefreshRequest, _oldest(limit).where(others))


def count_waiting(db: Connection) -> int:
    return int(_count.scalar(db, {}))


_UNANSWERED = refresh_requests.c.requested > refresh_requests.c.served
_count = Statement(select(func.count()).select_from(refresh_requests).where(_UNANSWERED))


def _oldest(most: Any) -> Select[Any]:
    query = pick(RefreshRequest, refresh_requests).where(_UNANSWERED)
    return query.order_by(refresh_requests.c.requested_at).limit(most)


_waiting = statement(_oldest)


@statement
def _serve(card_id: Any, upto: Any) -> Update:
    mine = (refresh_requests.c.card_id == card_id) & (refresh_requests.c.served < upto)
    return refresh_requests.update().where(mine).values(served=upto)
