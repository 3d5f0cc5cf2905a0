"""The kill switches that are on, and who last lifted a pause or stop: a later person is told of the first."""

from sqlalchemy import Connection, Table

from ledger.db.rows import all_rows, columns, drop, find, keep, list_rows, pick, recorder, rename_key
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardReplaced, ColumnsChanged, HaltLifted, StopLifted, StopOrdered
from ledger.events.run import RunRequeued
from ledger.fold import Fold
from ledger.ids import BoardId
from ledger.rows.stops import LiftRow, StopRow
from ledger.states import BY_ITSELF
from ledger.views import runs as known_runs

stops = Table("view_stops", VIEWS, *columns(StopRow, "board_id", "scope", "target"))
lifts = Table("view_lifts", VIEWS, *columns(LiftRow, "board_id", "scope", "target"))
fold = Fold()


def of_board(db: Connection, board_id: BoardId) -> tuple[StopRow, ...]:
    return list_rows(db, StopRow, stops, "at", board_id=board_id)


def stop_of_card(db: Connection, board_id: BoardId, card_id: str) -> StopRow | None:
    return find(db, StopRow, stops, board_id=board_id, scope="card", target=card_id)


def lift_of(db: Connection, board_id: BoardId, scope: str, target: str) -> LiftRow | None:
    return find(db, LiftRow, lifts, board_id=board_id, scope=scope, target=target)


fold.on(StopOrdered)(recorder(stops))


@fold.on(ColumnsChanged)
def _fold_columns_changed(db: Connection, _recorded: Recorded, event: ColumnsChanged) -> None:
    now = {column.before: column.after for column in event.renamed}
    held = (stops.c.board_id == event.board_id) & (stops.c.scope == "column") & stops.c.target.in_(tuple(now))
    rows = all_rows(db, StopRow, pick(StopRow, stops).where(held))
    db.execute(stops.delete().where(held))  # all before any: two columns may have swapped their names
    for row in rows:
        key = {"board_id": row.board_id, "scope": row.scope, "target": now[row.target]}
        keep(db, stops, key, {"by": row.by, "at": row.at, "because": row.because})


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    """Take the lift over; a stop is ordered anew, since the state of a board is known by its own events."""
    rename_key(db, lifts, "target", event.draft, event.card_id, scope="card")


@fold.on(StopLifted)
def _fold_stop_lifted(db: Connection, recorded: Recorded, event: StopLifted) -> None:
    drop(db, stops, board_id=event.board_id, scope=event.scope, target=event.target)
    _keep_lift(db, recorded, event.board_id, event.scope, event.target, by=event.by)


@fold.on(HaltLifted)
def _fold_halt_lifted(db: Connection, recorded: Recorded, event: HaltLifted) -> None:
    if event.by != BY_ITSELF:
        _keep_lift(db, recorded, event.board_id, "board", event.board_id, by=event.by)


@fold.on(RunRequeued)
def _fold_run_requeued(db: Connection, recorded: Recorded, event: RunRequeued) -> None:
    run = known_runs.get(db, event.run_id)
    if run is not None and event.by:
        _keep_lift(db, recorded, run.board_id, "card", run.card_id, by=event.by)


def _keep_lift(
    db: Connection, recorded: Recorded, board_id: str, scope: str, target: str, *, by: str
) -> None:
    key = {"board_id": board_id, "scope": scope, "target": target}
    keep(db, lifts, key, {"by": by, "at": recorded.at})
