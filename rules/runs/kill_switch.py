"""Kill switches: their scope, and their effect on each live run in it."""

from collections.abc import Mapping, Sequence

from ledger.events.board import StopLifted, StopOrdered
from ledger.events.run import RunRequeued, RunStopAsked
from ledger.ids import BoardId
from ledger.rows.stops import StopRow
from ledger.states import RUN_HELD, Reason, StopKind
from rules.card.stops import describe_block, describe_stop
from rules.intents.internal import show_card
from rules.intents.outbound import Decision
from rules.snapshot import Snapshot
from rules.text import code

_WHY = {scope: f"{scope} stopped" for scope in ("board", "column", "card")}
SWITCHED = frozenset(_WHY.values())  # why a run was paused by a switch, and not by somebody's own word


def targets(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the name of the card's own card, column and board, as kill switches call them."""
    return {"card": snapshot.card_id, "column": snapshot.column or "", "board": snapshot.board_id}


def switch(
    stops: Sequence[StopRow], board_id: BoardId, scope: str, target: str, by: str, *, on: bool
) -> StopOrdered | StopLifted | None:
    """Return the event that switches a kill switch on or off; None where it stands so already."""
    if on is any((stop.scope, stop.target) == (scope, target) for stop in stops):
        return None
    return (StopOrdered if on else StopLifted)(board_id, scope, target, by)


def spread_stop(snapshot: Snapshot, event: StopOrdered | StopLifted) -> Decision:
    """Return the decision on one card in the scope of a kill switch that was switched."""
    run, check = snapshot.live_run, snapshot.live_check
    if snapshot.board_id != event.board_id or not _covers(snapshot, event.scope, event.target):
        return Decision()
    if isinstance(event, StopOrdered):
        stops, why = [], _WHY[event.scope]
        if run is not None and run.state in RUN_HELD and not run.stop_asked:
            stops.append(RunStopAsked(run.run_id, StopKind.PAUSE, event.by, why))
        if check is not None:  # it has no session that could go on
            stops.append(RunStopAsked(check.run_id, StopKind.CANCEL, event.by, why))
        because = (f"the {event.scope} {code(event.target)} is stopped",) if stops else ()
        return Decision(tuple(stops), because)
    if run is None:
        return Decision()
    # A person's own pause outlives the switch, and so does a wider switch that is still on.
    held = describe_stop(snapshot.stops, snapshot.card_id, snapshot.column)
    if not snapshot.is_paused or run.stop_why not in SWITCHED or held:
        return Decision()
    return Decision((RunRequeued(run.run_id, "resumed", by=event.by),), (f"the {event.scope} is resumed",))


def show_block(snapshot: Snapshot) -> Decision:
    """Show on a card that somebody has blocked it, or does so no more."""
    blocked = describe_block(snapshot.stops, snapshot.card_id) or snapshot.reason is Reason.BLOCKED
    return show_card() if blocked else Decision()


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
