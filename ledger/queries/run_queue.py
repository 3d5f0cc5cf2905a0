"""The queue of runs over several views: runs that may start, and runs that wait for other issues."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    true,
)

from ledger.db.clock import database_now
from ledger.db.rows import all_rows, list_rows, pick
from ledger.db.statements import Statement, statement
from ledger.db.tables import refresh_requests
from ledger.events.run import CHECK, OWN, RERUN
from ledger.ids import BoardId, CardId, RunId
from ledger.states import Reason, RunState
from ledger.views import links
from ledger.views.cards import cards
from ledger.views.runs import IS_ATTEMPT, QueuedRow, runs

MAX_RANK = 2**62  # more than any
_QUEUED = text("state = 'queued'")  # spelt out for the partial index
_OF_AGENT = runs.c.kind != CHECK
_BOARDS_WAITING = Statement(select(runs.c.board_id).where(_QUEUED).distinct())


def boards_waiting(db: Connection) -> frozenset[BoardId]:
    return frozenset(BoardId(board_id) for (board_id,) in _BOARDS_WAITING.all(db, {}))


def free(db: Connection, board_id: BoardId, column: str, limit: int) -> tuple[QueuedRow, ...]:
    """Return the head of a column's queue without runs that wait for other issues, by place, then age.

    A run whose card stands elsewhere is not in it.
    """
    return all_rows(db, QueuedRow, _free, board_id=board_id, column=column, most=limit)


@dataclass(frozen=True, slots=True)
class _Standing:
    card_id: CardId
    column: str | None


class QueuedCard(NamedTuple):
    """A queued run with its card; `in_line`: it has a place, and waits for no other issue."""

    run_id: RunId
    card_id: CardId
    repository: str | None
    number: int | None
    title: str
    because: str
    queued_at: datetime
    in_line: bool


def counts(db: Connection, board_id: BoardId) -> dict[str, int]:
    """Return how many runs of agents are queued in each column of the board."""
    return {column: count for column, count in _counts.all(db, {"board_id": board_id})}


def list_queued_in_column(
    db: Connection, board_id: BoardId, column: str, limit: int
) -> tuple[QueuedCard, ...]:
    """Return the head of a column's queue with runs that wait for other issues, by place, then age."""
    return all_rows(db, QueuedCard, _select_queued, board_id=board_id, column=column, most=limit)


def free_elsewhere(
    db: Connection, board_id: BoardId, columns: Iterable[str], limit: int, max_rank: int = MAX_RANK
) -> tuple[QueuedRow, ...]:
    """Return runs of other columns, and those whose card left their column; by place and age."""
    named = {f"column_{position}": name for position, name in enumerate(columns)}
    query = _elsewhere(tuple(named))
    return all_rows(db, QueuedRow, query, board_id=board_id, max_rank=max_rank, most=limit, **named)


def checks(db: Connection, board_id: BoardId, limit: int) -> tuple[QueuedRow, ...]:
    """Return the queued runs that only check, the oldest first: no column's queue and no issue holds them."""
    return all_rows(db, QueuedRow, _checks, board_id=board_id, most=limit)


def queue_place(db: Connection, run_id: RunId) -> int:
    """Return the run's place, from 1, among those of its column that `free` returns; 0 for any other run."""
    ahead, itself = _PLACE.first(db, {"run_id": run_id}) or (0, 0)
    return int(ahead) if itself else 0


def columns_waiting(db: Connection) -> tuple[tuple[BoardId, str], ...]:
    query = select(runs.c.board_id, runs.c.column).where(_QUEUED).distinct()
    return tuple((BoardId(board_id), column) for board_id, column in db.execute(query))


def where_cards_stand(db: Connection, card_ids: Iterable[CardId]) -> dict[CardId, str | None]:
    rows = list_rows(db, _Standing, cards, card_id=tuple(card_ids))
    return {row.card_id: row.column for row in rows}


def reasons_of(db: Connection, card_ids: Iterable[CardId]) -> dict[CardId, tuple[str, Reason]]:
    """Return the sentences about the cards' states, with their codes; not of cards that name their hold
    themselves.
    """
    free = cards.c.card_id.in_(tuple(card_ids)) & cards.c.reason.not_in((Reason.BLOCKED, Reason.OUT_OF_REACH))
    query = select(cards.c.card_id, cards.c.because, cards.c.reason).where(free)
    return {CardId(card_id): (because, reason) for card_id, because, reason in db.execute(query)}


def cards_of_runs(db: Connection, run_ids: Iterable[RunId]) -> dict[RunId, CardId]:
    query = select(runs.c.run_id, runs.c.card_id).where(runs.c.run_id.in_(tuple(run_ids)))
    return {RunId(run_id): CardId(card_id) for run_id, card_id in db.execute(query)}


def _stands() -> ColumnElement[bool]:
    return exists().where(cards.c.card_id == runs.c.card_id, cards.c.column == runs.c.column)


def _waits_for_none() -> ColumnElement[bool]:
    """Return the condition that a run waits for a worker of Cardinal's alone."""
    return and_(runs.c.kind != CHECK, runs.c.agent != OWN, or_(runs.c.kind == RERUN, _is_free()))


def _is_free() -> ColumnElement[bool]:
    return and_(runs.c.card_id.not_in(links.select_held_cards()), ~waits_for_parts())


def is_free(db: Connection, run_id: RunId) -> bool:
    """Tell whether a queued run waits for no other issue."""
    return _IS_FREE.first(db, {"run_id": run_id}) is not None


def waits_for_parts() -> ColumnElement[bool]:
    """Return the condition that a queued run waits for sub-issues of its card; one that began does not."""
    return and_(links.waits_by_policy(), links.has_parts_to_do(runs.c.card_id))


def _ahead() -> Any:
    """Select how many runs of the run's line go before it, itself included, and whether it is one of them."""
    own = runs.alias("own")
    line = and_(
        runs.c.state == literal_column("'queued'"),
        runs.c.board_id == own.c.board_id,
        runs.c.column == own.c.column,
    )
    before = or_(runs.c.rank < own.c.rank, and_(runs.c.rank == own.c.rank, runs.c.serial <= own.c.serial))
    query = select(func.count(), func.max(case((runs.c.run_id == own.c.run_id, 1), else_=0)))
    return query.where(own.c.run_id == bindparam("run_id"), line, before, _stands(), _waits_for_none())


_PLACE = Statement(_ahead())
_IS_FREE = Statement(select(runs.c.run_id).where(runs.c.run_id == bindparam("run_id"), _is_free()))


@statement
def _counts(board_id: Any) -> Select[Any]:
    query = select(runs.c.column, func.count()).where(_QUEUED, runs.c.board_id == board_id, _OF_AGENT)
    return query.group_by(runs.c.column)


@statement
def _select_queued(board_id: Any, column: Any, most: Any) -> Select[Any]:
    card = cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title, cards.c.because
    in_line = and_(cards.c.column == runs.c.column, _waits_for_none())
    query = select(runs.c.run_id, *card, runs.c.queued_at, in_line)
    query = query.select_from(runs.join(cards, cards.c.card_id == runs.c.card_id))
    is_queued = runs.c.state == literal_column("'queued'")  # as _QUEUED; `cards` have a state, too
    mine = query.where(is_queued, runs.c.board_id == board_id, runs.c.column == column, _OF_AGENT)
    return mine.order_by(runs.c.board_id, runs.c.column, runs.c.rank, runs.c.serial).limit(most)


@statement
def _free(board_id: Any, column: Any, most: Any) -> Select[Any]:
    query = pick(QueuedRow, runs).where(_QUEUED, runs.c.board_id == board_id, runs.c.column == column)
    order = (runs.c.board_id, runs.c.column, runs.c.rank, runs.c.serial)
    return query.where(_stands(), _waits_for_none()).order_by(*order).limit(most)


@cache
def _elsewhere(columns: tuple[str, ...]) -> Statement:
    """Select the runs that `free_elsewhere` returns; `columns` names a parameter for each column."""
    others = and_(true(), *(runs.c.column != bindparam(name) for name in columns))
    query = pick(QueuedRow, runs).where(_QUEUED, _waits_for_none(), or_(others, ~_stands()))
    # First what the index knows: the card is looked at last.
    query = query.where(runs.c.board_id == bindparam("board_id"), runs.c.rank <= bindparam("max_rank"))
    return Statement(query.order_by(runs.c.rank, runs.c.serial).limit(bindparam("most")))


@statement
def _checks(board_id: Any, most: Any) -> Select[Any]:
    query = pick(QueuedRow, runs).where(_QUEUED, runs.c.kind == CHECK, runs.c.board_id == board_id)
    return query.order_by(runs.c.serial).limit(most)


def list_unrefreshed_dependents(
    db: Connection, board_id: BoardId, since_s: float, limit: int
) -> tuple[CardId, ...]:
    """Return cards whose queued run waits for another issue without a refresh request for `since_s`."""
    before = database_now(db) - timedelta(seconds=since_s)
    waits = (runs.c.state == RunState.QUEUED) & IS_ATTEMPT
    queued = select(runs.c.card_id).where(waits, runs.c.board_id == board_id)
    requested = queued.outerjoin(refresh_requests, refresh_requests.c.card_id == runs.c.card_id).where(
        runs.c.card_id.in_(links.select_held_cards()),
        or_(refresh_requests.c.requested_at.is_(None), refresh_requests.c.requested_at < before),
    )
    return tuple(CardId(card_id) for card_id in db.scalars(requested.order_by(runs.c.serial).limit(limit)))


def list_queued_dependents(db: Connection, repository: str, number: int, limit: int) -> tuple[CardId, ...]:
    """Return the cards with a queued run that are blocked by the issue, or were."""
    condition = (links.links.c.repository == repository) & (links.links.c.number == number)
    query = select(links.links.c.card_id).join(runs, runs.c.card_id == links.links.c.card_id)
    blocked = (
        query.where(condition, runs.c.state == RunState.QUEUED).order_by(links.links.c.card_id).limit(limit)
    )
    return tuple(dict.fromkeys(CardId(card_id) for card_id in db.scalars(blocked)))
