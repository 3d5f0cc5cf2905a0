"""Queries over all cards of a board: columns, counts and repositories."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, false, func, or_, select

from ledger.db.clock import database_now
from ledger.db.statements import Statement, statement
from ledger.db.tables import refresh_requests
from ledger.ids import BoardId, CardId
from ledger.states import CardState
from ledger.views.cards import UNRANKED, cards


def counts(db: Connection, board_id: BoardId) -> dict[str | None, int]:
    """Return how many cards that are not archived stand in each column."""
    query = select(cards.c.column, func.count()).where(cards.c.board_id == board_id, ~cards.c.archived)
    return {column: count for column, count in db.execute(query.group_by(cards.c.column))}


def columns_of(db: Connection, board_id: BoardId) -> dict[CardId, str | None]:
    query = select(cards.c.card_id, cards.c.column).where(cards.c.board_id == board_id, ~cards.c.archived)
    return {CardId(card_id): column for card_id, column in db.execute(query)}


def issues_of(db: Connection, board_id: BoardId) -> dict[CardId, str]:
    """Return the issue, owner/name#number, of every card of the board that has one and is not archived."""
    query = select(cards.c.card_id, cards.c.repository, cards.c.number)
    condition = (cards.c.board_id == board_id) & ~cards.c.archived & cards.c.number.is_not(None)
    return {
        CardId(card_id): f"{name}#{number}" for card_id, name, number in db.execute(query.where(condition))
    }


def list_closed(db: Connection, board_id: BoardId) -> frozenset[CardId]:
    """Return the cards of the board whose issue is closed, without the archived ones."""
    closed = (cards.c.board_id == board_id) & ~cards.c.archived & (cards.c.closed != "")
    return frozenset(CardId(card_id) for card_id in db.scalars(select(cards.c.card_id).where(closed)))


def list_unmerged(
    db: Connection, board_id: BoardId, columns: Collection[str], since_s: float, limit: int
) -> tuple[CardId, ...]:
    """Return the cards in these columns whose pull request is open and that nobody asked to refresh for
    `since_s`; the longest unread first.
    """
    before, refreshed_at = database_now(db) - timedelta(seconds=since_s), refresh_requests.c.requested_at
    condition = (cards.c.board_id == board_id) & cards.c.column.in_(columns) & ~cards.c.archived
    query = select(cards.c.card_id).outerjoin(refresh_requests, refresh_requests.c.card_id == cards.c.card_id)
    open_ones = query.where(
        condition, cards.c.pull_state == "open", or_(refreshed_at.is_(None), refreshed_at < before)
    )
    return tuple(
        CardId(card_id)
        for card_id in db.scalars(
            open_ones.order_by(refreshed_at.nulls_first(), cards.c.card_id).limit(limit)
        )
    )


def order_of(db: Connection, board_id: BoardId, column: str) -> tuple[CardId, ...]:
    """Return the column's ranked cards from top to bottom."""
    return tuple([card_id for (card_id,) in _order.all(db, {"board_id": board_id, "column": column})])


@statement
def _order(board_id: Any, column: Any) -> Select[Any]:
    here = (cards.c.board_id == board_id) & (cards.c.column == column) & ~cards.c.archived
    return select(cards.c.card_id).where(here, cards.c.rank < UNRANKED).order_by(cards.c.rank)


def in_state(db: Connection, board_id: BoardId, state: CardState) -> tuple[CardId, ...]:
    """Return the board's cards in that state, without the archived ones."""
    here = (cards.c.board_id == board_id) & (cards.c.state == state) & ~cards.c.archived
    return tuple(CardId(card_id) for card_id in db.scalars(select(cards.c.card_id).where(here)))


def out_of_place(
    db: Connection, board_id: BoardId, legal: Mapping[str, tuple[CardState, ...]], limit: int
) -> tuple[CardId, ...]:
    """Return cards of the board whose state is none of those that their column is said to have."""
    query, names = _out_of_place(tuple(legal.values())), {f"column_{at}": it for at, it in enumerate(legal)}
    rows = query.all(db, {"board_id": board_id, "most": limit, **names})
    return tuple([card_id for (card_id,) in rows])


@lru_cache(maxsize=64)  # people change their policies, and a process lives for weeks
def _out_of_place(legal: tuple[tuple[CardState, ...], ...]) -> Statement:
    """Select the cards of `out_of_place`; `legal` has the states of each column, a parameter names it."""
    wrong = (
        and_(cards.c.column == bindparam(f"column_{at}"), *(cards.c.state != state for state in states))
        for at, states in enumerate(legal)
    )
    here = (cards.c.board_id == bindparam("board_id")) & ~cards.c.archived & or_(false(), *wrong)
    return Statement(select(cards.c.card_id).where(here).order_by(cards.c.card_id).limit(bindparam("most")))


def repositories_of(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories of the board's cards, without the archived ones, in order."""
    here = (cards.c.board_id == board_id) & ~cards.c.archived & cards.c.repository.is_not(None)
    return tuple(db.scalars(select(cards.c.repository).where(here).distinct().order_by(cards.c.repository)))
