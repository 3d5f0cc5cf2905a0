"""Observations of each run besides its agent's words: its to-do list, refusals, failures, hosts."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, keep
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.agent import (
    CallRefused,
    HostReached,
    PermissionRefused,
    ProviderFailed,
    TodoListed,
    ToolServerCalled,
    ToolServerFailed,
)
from ledger.events.run import RunEvent
from ledger.fold import Fold
from ledger.ids import RunId

MAX_HOSTS = 50  # stored by name, of each kind; the timeline has all


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """Observations of a run. `ticks` has a 1 for each item of `todos` that is done, else a 0.

    `failures` counts the provider's, `failed_status` and `failed_in_a_row` are the newest one's.
    `server_calls` are those of tool servers, `failed_servers` says each server's first trouble.
    """

    run_id: RunId
    todos: tuple[str, ...] = ()
    ticks: str = ""
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    denied: int = 0
    refused_calls: int = 0
    failures: int = 0
    failed_status: int = 0
    failed_in_a_row: int = 0
    server_calls: int = 0
    failed_servers: tuple[str, ...] = ()


observations = Table("view_beside", VIEWS, *columns(ObservationRow, "run_id"))
fold = Fold()


def get(db: Connection, run_id: RunId) -> ObservationRow | None:
    return find(db, ObservationRow, observations, run_id=run_id)


@fold.on(TodoListed)
def _fold_todo_listed(db: Connection, _recorded: Recorded, event: TodoListed) -> None:
    ticks = "".join("1" if done else "0" for done in event.done)
    _note(db, event, todos=event.items, ticks=ticks)


@fold.on(HostReached)
def _fold_host_reached(db: Connection, _recorded: Recorded, event: HostReached) -> None:
    row = get(db, event.run_id)
    name = "reached" if event.allowed else "unreached"
    hosts: tuple[str, ...] = getattr(row, name) if row else ()
    if event.host not in hosts and len(hosts) < MAX_HOSTS:
        _note(db, event, **{name: (*hosts, event.host)})


@fold.on(PermissionRefused)
def _fold_permission_refused(db: Connection, _recorded: Recorded, event: PermissionRefused) -> None:
    _count(db, event, "denied")


@fold.on(CallRefused)
def _fold_call_refused(db: Connection, _recorded: Recorded, event: CallRefused) -> None:
    _count(db, event, "refused_calls")


@fold.on(ProviderFailed)
def _fold_provider_failed(db: Connection, _recorded: Recorded, event: ProviderFailed) -> None:
    _count(db, event, "failures")
    _note(db, event, failed_status=event.status, failed_in_a_row=event.in_a_row)


@fold.on(ToolServerCalled)
def _fold_tool_server_called(db: Connection, _recorded: Recorded, event: ToolServerCalled) -> None:
    _count(db, event, "server_calls")


@fold.on(ToolServerFailed)
def _fold_tool_server_failed(db: Connection, _recorded: Recorded, event: ToolServerFailed) -> None:
    row = get(db, event.run_id)
    failed = row.failed_servers if row else ()
    if not any(text.startswith(f"{event.server}: ") for text in failed):
        _note(db, event, failed_servers=(*failed, f"{event.server}: {event.detail}"))


def _count(db: Connection, event: RunEvent, name: str) -> None:
    row = get(db, event.run_id)
    _note(db, event, **{name: (getattr(row, name) if row else 0) + 1})


def _note(db: Connection, event: RunEvent, **values: object) -> None:
    keep(db, observations, {"run_id": event.run_id}, values)
