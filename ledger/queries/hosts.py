"""Query of the hosts as people see them: their state, and the runs at work there."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection

from ledger.ids import RunId
from ledger.queue import hosts
from ledger.queue.hosts import HostRow
from ledger.views import runs


class HostState(StrEnum):
    """Whether a host takes runs; a dead one is dead whether it was drained or not."""

    ALIVE = "alive"
    DRAINED = "drained"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host at the time `at`, by the database's clock; `runs` are at work there."""

    row: HostRow
    state: HostState
    runs: tuple[RunId, ...]
    at: datetime

    @property
    def silence(self) -> timedelta:
        return self.at - self.row.seen_at


def statuses(db: Connection) -> tuple[HostStatus, ...]:
    known_hosts, at_work = hosts.list_hosts(db), dict[str, list[RunId]]()
    for run in runs.list_held(db):
        at_work.setdefault(run.host, []).append(run.run_id)
    return tuple(
        HostStatus(
            row,
            _state(row, alive=known_hosts.is_alive(row)),
            tuple(at_work.get(row.name, ())),
            known_hosts.at,
        )
        for row in known_hosts.rows
    )


def _state(row: HostRow, *, alive: bool) -> HostState:
    if not alive:
        return HostState.DEAD
    return HostState.DRAINED if row.drained else HostState.ALIVE
