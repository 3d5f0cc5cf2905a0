"""How many runs were held at once, folded from the event log alone: at every moment, not now and then."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.event import Event
from ledger.events.run import RunClaimed, RunEnded, RunParked, RunQueued, RunRequeued, RunStepped
from ledger.states import RUN_HELD


@dataclass(slots=True)
class Most:
    """The most runs that were held at the same time, by column, by repository and in all."""

    by_column: Counter[str] = field(default_factory=Counter)
    by_repository: Counter[str] = field(default_factory=Counter)
    total: int = 0


def most_held(log: Iterable[Event]) -> Most:
    """Return the highest counts that any moment of the log had."""
    most, held = Most(), {}
    queued: dict[str, RunQueued] = {}
    for event in log:
        match event:
            case RunQueued():
                queued[event.run_id] = event
            case RunClaimed():
                held[event.run_id] = queued[event.run_id]
            case RunParked() | RunEnded() | RunRequeued():
                held.pop(event.run_id, None)
            case RunStepped() if event.after not in RUN_HELD:
                held.pop(event.run_id, None)
        most.total = max(most.total, len(held))
        most.by_column |= Counter(run.column for run in held.values())
        most.by_repository |= Counter(run.repository for run in held.values())
    return most
