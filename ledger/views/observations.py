"""What was seen of each run beside its agent's words: its own list, refusals, failures, hosts."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table, select

from ledger.db.rows import columns, keep, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.agent import CallRefused, HostReached, PermissionRefused, ProviderFailed, TodoListed
from ledger.events.run import RunEvent
from ledger.fold import Fold
from ledger.ids import RunId

MAX_HOSTS = 50  # that are kept by name, of each kind; the timeline has all


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """What was seen of a run. `ticks` has a 1 for each item of `todos` that is done, else a 0.

    `failures` counts the provider's, `failed_status` and `failed_in_a_row` are the newest one's.
    """

    run_id: RunId
    todos: tuple[str, ...]
    ticks: str
    reached: tuple[str, ...]
    unreached: tuple[str, ...]
    denied: int
    refused_calls: int
    failures: int
    failed_status: int
    failed_in_a_row: int


observations = Table("view_beside", VIEWS, *columns(ObservationRow, "run_id"))
fold = Fold()
_NOTHING = {
    "todos": (),
    "ticks": "",
    "reached": (),
    "unreached": (),
    "denied": 0,
    "refused_calls": 0,
    "failures": 0,
    "failed_status": 0,
    "failed_in_a_row": 0,
}


def get(db: Connection, run_id: RunId) -> ObservationRow | None:
    """Return what was seen of the run; None where there was nothing."""
    return one(db, ObservationRow, pick(ObservationRow, observations).where(observations.c.run_id == run_id))


@fold.on(TodoListed)
def _listed(db: Connection, _it: Recorded, event: TodoListed) -> None:
    ticks = "".join("1" if done else "0" for done in event.done)
    _note(db, event, todos=event.items, ticks=ticks)


@fold.on(HostReached)
def _reached(db: Connection, _it: Recorded, event: HostReached) -> None:
    row = get(db, event.run_id)
    name = "reached" if event.allowed else "unreached"
    hosts: tuple[str, ...] = getattr(row, name) if row else ()
    if event.host not in hosts and len(hosts) < MAX_HOSTS:
        _note(db, event, **{name: (*hosts, event.host)})


@fold.on(PermissionRefused)
def _denied(db: Connection, _it: Recorded, event: PermissionRefused) -> None:
    _note(db, event, denied=_count(db, event, "denied") + 1)


@fold.on(CallRefused)
def _refused(db: Connection, _it: Recorded, event: CallRefused) -> None:
    _note(db, event, refused_calls=_count(db, event, "refused_calls") + 1)


@fold.on(ProviderFailed)
def _failed(db: Connection, _it: Recorded, event: ProviderFailed) -> None:
    newest = {"failed_status": event.status, "failed_in_a_row": event.in_a_row}
    _note(db, event, failures=_count(db, event, "failures") + 1, **newest)


def _count(db: Connection, event: RunEvent, name: str) -> int:
    return db.scalar(select(observations.c[name]).where(observations.c.run_id == event.run_id)) or 0


def _note(db: Connection, event: RunEvent, **values: object) -> None:
    fresh = values if get(db, event.run_id) else _NOTHING | values
    keep(db, observations, {"run_id": event.run_id}, fresh)
