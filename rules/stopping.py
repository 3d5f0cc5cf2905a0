"""Kill switches: what they cover, and what switching one on or off means for each live run under it."""

from collections.abc import Mapping

from ledger.events.board import StopLifted, StopOrdered
from ledger.states import RUN_HELD
from rules.intents import Decision
from rules.inward import RequeueRun, StopRun
from rules.queue import stopped_by
from rules.snapshot import Snapshot
from rules.words import code

_WHY = {scope: f"{scope} stopped" for scope in ("board", "column", "card")}
SWITCHED = frozenset(_WHY.values())  # why a run was paused by a switch, and not by somebody's own word


def targets(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the name of the card's own card, column and board, as kill switches call them."""
    return {"card": snapshot.card_id, "column": snapshot.column or "", "board": snapshot.board_id}


def spread(snapshot: Snapshot, event: StopOrdered | StopLifted) -> Decision:
    """Return what a kill switch means for one card under it; to be asked for every card with a live run."""
    run = snapshot.live_run
    if run is None or snapshot.board_id != event.board_id or not _covers(snapshot, event.scope, event.target):
        return Decision()
    if isinstance(event, StopOrdered):
        if run.state not in RUN_HELD or run.stop_asked:
            return Decision()
        because = (f"the {event.scope} {code(event.target)} is stopped",)
        stop = StopRun(snapshot.card_id, run.run_id, "pause", event.by, _WHY[event.scope])
        return Decision((stop,), because)
    # A person's own pause outlives the switch, and so does a wider switch that is still on.
    held = stopped_by(snapshot.stops, snapshot.card_id, snapshot.column)
    if not run.paused or run.stop_why not in SWITCHED or held:
        return Decision()
    return Decision((RequeueRun(snapshot.card_id, run.run_id, "resumed"),), (f"the {event.scope} may go on",))


def _covers(snapshot: Snapshot, scope: str, target: str) -> bool:
    run = snapshot.run
    columns = {snapshot.column, run.column if run else None}
    match scope:
        case "board":
            return True
        case "column":
            return target in columns
        case _:
            return target == snapshot.card_id
