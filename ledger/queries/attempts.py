"""Runs and their cards: all beginnings of a card, its runs that only check, those that succeeded."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select

from ledger.db.rows import all_rows, list_rows, pick, value
from ledger.db.statements import statement
from ledger.events.run import CHECK, RERUN
from ledger.ids import BoardId, CardId, RunId
from ledger.model.run_modes import FIX
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views.cards import cards, of_same_issue
from ledger.views.runs import IS_ATTEMPT, runs


def card_of_run(db: Connection, run_id: RunId) -> CardId | None:
    """Return the card of the run; None when it was never queued."""
    card_id: CardId | None = value(db, runs.c.card_id, run_id=run_id)
    return card_id


def card_of_branch(db: Connection, repository: str, branch: str) -> CardId | None:
    """Return the card whose runs worked last on the branch of the repository; None for none."""
    card_id: CardId | None = db.scalar(
        select(runs.c.card_id)
        .where(func.lower(runs.c.repository) == repository.lower(), runs.c.branch == branch)
        .order_by(runs.c.serial.desc())
        .limit(1)
    )
    return card_id


def repositories(db: Connection, board_id: BoardId) -> frozenset[str]:
    """Return where the issues of the board's cards are, and where their runs worked."""
    known = (
        select(cards.c.repository).where(cards.c.board_id == board_id),
        select(cards.c.pull_repository).where(cards.c.board_id == board_id),
        select(runs.c.repository).where(runs.c.board_id == board_id),
    )
    return frozenset(name for query in known for name in db.scalars(query.distinct()) if name)


def list_attempts(db: Connection, card_id: CardId, limit: int) -> tuple[datetime, ...]:
    """Return when the card's newest attempts were queued, the newest first."""
    return tuple(
        [queued_at for (queued_at,) in _select_attempts.all(db, {"card_id": card_id, "most": limit})]
    )


@statement
def _select_attempts(card_id: Any, most: Any) -> Select[Any]:
    query = select(runs.c.queued_at).where(runs.c.card_id == card_id, IS_ATTEMPT)
    return query.order_by(runs.c.serial.desc()).limit(most)


def checking(db: Connection, card_id: CardId, limit: int) -> tuple[RunRow, ...]:
    """Return the card's newest runs that only check, newest first."""
    return list_rows(db, RunRow, runs, "-serial", limit=limit, card_id=card_id, kind=CHECK)


def live_reruns(db: Connection, card_id: CardId) -> tuple[RunRow, ...]:
    """Return the runs beside the card's own that have not ended, the oldest first."""
    return all_rows(db, RunRow, _select_live_reruns, card_id=card_id)


@statement
def _select_live_reruns(card_id: Any) -> Select[Any]:
    mine = (runs.c.card_id == card_id) & (runs.c.kind == RERUN) & (runs.c.state != RunState.ENDED)
    return pick(RunRow, runs).where(mine).order_by(runs.c.serial)


def was_served_since(db: Connection, card_id: CardId, asked_at: datetime) -> bool:
    """Tell whether a run of the card's issue that changes code was queued then or later, and succeeded."""
    return _select_served.scalar(db, {"card_id": card_id, "asked_at": asked_at}) is not None


@statement
def _select_served(card_id: Any, asked_at: Any) -> Select[Any]:
    condition = runs.c.card_id.in_(of_same_issue(card_id)) & (runs.c.mode == FIX)
    condition = condition & IS_ATTEMPT
    ended = condition & (runs.c.ending == Ending.SUCCEEDED) & (runs.c.queued_at >= asked_at)
    return select(runs.c.run_id).where(ended).limit(1)
