"""Boards that wait because runs of several cards failed for one cause, and those failures."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Index, Select, Table, func, select

from ledger.db.rows import all_rows, change, columns, drop, find, keep, pick, record, setter
from ledger.db.statements import statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import BoardHalted, BoardProbed, HaltLifted
from ledger.events.run import BESIDE, CHECK, OWN, RunClaimed, RunEnded, RunParked, RunRequeued
from ledger.fold import Fold
from ledger.ids import BoardId, CardId, RunId
from ledger.rows.halts import HaltRow
from ledger.states import BY_ITSELF, Ending
from ledger.views import runs as known_runs


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A run that failed for a cause that others may share."""

    run_id: RunId
    board_id: BoardId
    card_id: CardId
    cause: str
    at: datetime


halts = Table("view_halts", VIEWS, *columns(HaltRow, "board_id"))
causes = Table(
    "view_causes", VIEWS, *columns(CauseRow, "run_id"), Index("view_causes_board", "board_id", "cause", "at")
)
fold = Fold()


def of_board(db: Connection, board_id: BoardId) -> HaltRow | None:
    return find(db, HaltRow, halts, board_id=board_id)


def due_halts(db: Connection, now: datetime) -> tuple[HaltRow, ...]:
    """Return the halts that have waited long enough and have no probing run."""
    return all_rows(db, HaltRow, _due, now=now)


@statement
def _due(now: Any) -> Select[Any]:
    return pick(HaltRow, halts).where(halts.c.until <= now, ~halts.c.probing)


def count_failed_cards(db: Connection, board_id: BoardId, cause: str, since: datetime) -> int:
    """Return how many cards of the board failed for the cause after `since`, without a success between."""
    condition = (causes.c.board_id == board_id) & (causes.c.cause == cause) & (causes.c.at > since)
    return db.scalar(select(func.count(causes.c.card_id.distinct())).where(condition)) or 0


@fold.on(RunEnded)
def _fold_run_ended(db: Connection, recorded: Recorded, event: RunEnded) -> None:
    run = known_runs.get(db, event.run_id)
    # Without a model of Cardinal's it proves nothing of what halted the board.
    if run is None or run.kind == CHECK or run.agent == OWN:
        return
    if event.ending is Ending.SUCCEEDED:
        drop(db, causes, board_id=run.board_id)
    if event.cause:
        failed = {"board_id": run.board_id, "card_id": run.card_id, "cause": event.cause, "at": recorded.at}
        keep(db, causes, {"run_id": event.run_id}, failed)


@fold.on(RunClaimed)
def _fold_run_claimed(db: Connection, _recorded: Recorded, event: RunClaimed) -> None:
    run = known_runs.get(db, event.run_id)
    if run is not None and run.kind not in BESIDE and run.agent != OWN:
        change(db, halts, {"board_id": run.board_id, "probing": True, "probe": ""}, probe=event.run_id)


@fold.on(RunRequeued)
def _fold_run_requeued(db: Connection, _recorded: Recorded, event: RunRequeued) -> None:
    change(db, halts, {"probe": event.run_id}, probe="")


@fold.on(RunParked)
def _fold_run_parked(db: Connection, _recorded: Recorded, event: RunParked) -> None:
    if event.why == "pause":  # it may stay so for days: the next run tries in its place
        change(db, halts, {"probe": event.run_id}, probe="")


@fold.on(BoardHalted)
def _fold_board_halted(db: Connection, recorded: Recorded, event: BoardHalted) -> None:
    before = of_board(db, event.board_id)  # after a run that tried in vain it is the same halt
    record(db, halts, recorded, at=before.at if before and before.cause == event.cause else recorded.at)


fold.on(BoardProbed)(setter(halts, lambda _: {"probing": True, "probe": ""}, "board_id", "cause"))


@fold.on(HaltLifted)
def _fold_halt_lifted(db: Connection, _recorded: Recorded, event: HaltLifted) -> None:
    drop(db, halts, board_id=event.board_id)
    if event.by == BY_ITSELF:  # a person's word is no proof: the next failure halts the board at once
        drop(db, causes, board_id=event.board_id)
