"""An issue's cards on several boards: one branch, so one run at a time, and one pull request."""

from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, literal, or_, select

from ledger.db.rows import pad, width
from ledger.db.statements import Statement, statement
from ledger.events.run import RERUN
from ledger.ids import BoardId, CardId, RunId
from ledger.model.run_modes import FIX
from ledger.rows.cards import CardRow
from ledger.rows.same_issue import RunElsewhere
from ledger.states import RUN_HELD, Ending, RunState
from ledger.views import boards as known_boards
from ledger.views.boards import boards
from ledger.views.cards import cards, get
from ledger.views.runs import IS_ATTEMPT, runs

_own, _mine, _theirs = runs.alias("own"), cards.alias("mine"), cards.alias("theirs")
_is_same = and_(
    _theirs.c.content_id == _mine.c.content_id,
    _theirs.c.card_id != _mine.c.card_id,
    _mine.c.content_id != literal(""),
)


def find_runs_ahead(db: Connection, run_ids: tuple[RunId, ...]) -> dict[RunId, RunElsewhere]:
    """Return the run that each of these queued runs waits for, since both are about one issue.

    That is whichever a worker holds; else the oldest that was begun. One that only waits for people holds
    nobody up when its card or its board is not served any more, so no run waits for ever.
    """
    choices = {f"run_{position}": run_id for position, run_id in enumerate(pad(run_ids))}
    rows = _select_runs_ahead(width(len(run_ids))).all(db, choices) if run_ids else ()
    first = {own: (ahead, board_id) for own, ahead, board_id in reversed(rows)}
    return {RunId(own): RunElsewhere(ahead, _board_name(db, it)) for own, (ahead, it) in first.items()}


@cache
def _select_runs_ahead(count: int) -> Statement:
    held = or_(*(runs.c.state == state for state in RUN_HELD))
    removed = select(boards.c.board_id).where(boards.c.removed)
    goes_first = or_(_own.c.claimed_at.is_(None), runs.c.serial < _own.c.serial)
    is_served = and_(~_theirs.c.archived, _theirs.c.board_id.not_in(removed))
    begun = and_(runs.c.state != RunState.ENDED, runs.c.claimed_at.is_not(None), goes_first, is_served)
    joined = _own.join(_mine, _mine.c.card_id == _own.c.card_id).join(_theirs, _is_same)
    joined = joined.join(runs, runs.c.card_id == _theirs.c.card_id)
    ahead = select(_own.c.run_id, runs.c.run_id, runs.c.board_id).select_from(joined)
    asked = _own.c.run_id.in_([bindparam(f"run_{position}") for position in range(count)])
    ahead = ahead.where(asked, _own.c.kind != RERUN, runs.c.kind != RERUN, or_(held, begun))
    return Statement(ahead.order_by(held.desc(), runs.c.serial))


def _board_name(db: Connection, board_id: BoardId) -> str:
    """Return the board's title with its address: two boards may have one title."""
    board = known_boards.get(db, board_id)
    return f"{board.title} ({board.address})" if board else board_id


def cards_beside(db: Connection, card_id: CardId) -> tuple[CardRow, ...]:
    """Return the other cards of the card's issue that stand on a board, the oldest first."""
    first = (get(db, CardId(other)) for (other,) in _others.all(db, {"card_id": card_id}))
    return tuple(row for row in first if row is not None)


@statement
def _others(card_id: Any) -> Select[Any]:
    query = select(_theirs.c.card_id).select_from(_mine.join(_theirs, _is_same))
    mine = query.where(_mine.c.card_id == card_id, ~_theirs.c.archived)
    return mine.order_by(_theirs.c.created_at, _theirs.c.card_id)


def find_work_done(db: Connection, card_id: CardId) -> RunElsewhere | None:
    """Return the run of the issue's other cards that changed code and succeeded last; None without one."""
    row = _select_work_done.first(db, {"card_id": card_id})
    return None if row is None else RunElsewhere(row[0], _board_name(db, row[1]), *row[2:])


@statement
def _select_work_done(card_id: Any) -> Select[Any]:
    joined = _mine.join(_theirs, _is_same).join(runs, runs.c.card_id == _theirs.c.card_id)
    query = select(runs.c.run_id, runs.c.board_id, runs.c.asked, runs.c.ended_at).select_from(joined)
    well = (runs.c.ending == Ending.SUCCEEDED, runs.c.mode == FIX, IS_ATTEMPT)
    return query.where(_mine.c.card_id == card_id, *well).order_by(runs.c.ended_at.desc()).limit(1)


def branch_of(db: Connection, card_id: CardId, repository: str) -> str:
    """Return the branch on which the issue's other cards have worked in that repository; empty for none."""
    row = _branch.first(db, {"card_id": card_id, "repository": repository})
    return "" if row is None else str(row[0])


@statement
def _branch(card_id: Any, repository: Any) -> Select[Any]:
    joined = _mine.join(_theirs, _is_same).join(runs, runs.c.card_id == _theirs.c.card_id)
    query = select(runs.c.branch).select_from(joined)
    mine = query.where(_mine.c.card_id == card_id, runs.c.repository == repository, runs.c.kind != RERUN)
    return mine.order_by(runs.c.serial.desc()).limit(1)
