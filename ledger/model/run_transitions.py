"""Which state an event takes a run to. Pure."""

from ledger.event import Event
from ledger.events import run as happened
from ledger.states import RunState


def state_after(event: Event) -> RunState | None:
    """Return the state that a run is in after the event; None where it says nothing of that."""
    match event:
        case happened.RunQueued() | happened.RunRequeued():
            return RunState.QUEUED
        case happened.RunClaimed():
            return RunState.CLAIMED
        case happened.RunStepped():
            return event.after
        case happened.RunParked():
            return RunState.PARKED
        case happened.RunEnded():
            return RunState.ENDED
        case _:
            return None
