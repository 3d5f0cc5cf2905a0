"""Who last lifted a pause or stop, so that a later person with the same wish hears of it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, select

from ledger.db.rows import columns, find, keep
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import HaltLifted, StopLifted
from ledger.events.run import RunRequeued
from ledger.fold import Fold
from ledger.ids import BoardId
from ledger.model.shared_failures import BY_ITSELF
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class LiftRow:
    """`by` lifted the stop of the `scope` (board, column or card) that `target` names."""

    board_id: BoardId
    scope: str
    target: str
    by: str
    at: datetime


lifts = Table("view_lifts", VIEWS, *columns(LiftRow, "board_id", "scope", "target"))
fold = Fold()


def get(db: Connection, board_id: BoardId, scope: str, target: str) -> LiftRow | None:
    """Return the newest lift; None before the first."""
    return find(db, LiftRow, lifts, board_id=board_id, scope=scope, target=target)


@fold.on(StopLifted)
def _lifted(db: Connection, it: Recorded, event: StopLifted) -> None:
    _keep(db, it, event.board_id, event.scope, event.target, event.by)


@fold.on(HaltLifted)
def _unhalted(db: Connection, it: Recorded, event: HaltLifted) -> None:
    if event.by != BY_ITSELF:
        _keep(db, it, event.board_id, "board", event.board_id, event.by)


@fold.on(RunRequeued)
def _resumed(db: Connection, it: Recorded, event: RunRequeued) -> None:
    run = db.execute(select(runs.c.board_id, runs.c.card_id).where(runs.c.run_id == event.run_id)).first()
    if run is not None and event.by:
        _keep(db, it, run.board_id, "card", run.card_id, event.by)


def _keep(db: Connection, it: Recorded, board_id: str, scope: str, target: str, by: str) -> None:
    key = {"board_id": board_id, "scope": scope, "target": target}
    keep(db, lifts, key, {"by": by, "at": it.at})
