"""Hosts: the machines that work, their heartbeats, and which of them are drained."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ledger.db.clock import database_now
from ledger.db.rows import change, drop, insert, list_rows
from ledger.db.tables import hosts
from ledger.queue import examinations

BEAT_S = 5.0  # between two heartbeats
DEAD_AFTER = timedelta(seconds=20)  # without one: longer than a writer waits for its turn


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host; `slots` is how many runs it works on at once. A drained one takes no more runs."""

    name: str
    seen_at: datetime
    slots: int
    labels: tuple[str, ...]
    version: str
    drained: bool


@dataclass(frozen=True, slots=True)
class HostList:
    """All hosts by name, and the database's time at which they were read."""

    rows: tuple[HostRow, ...]
    at: datetime

    def is_alive(self, row: HostRow) -> bool:
        return self.at - row.seen_at < DEAD_AFTER

    @property
    def at_work(self) -> tuple[HostRow, ...]:
        return tuple(row for row in self.rows if self.is_alive(row) and not row.drained)


def beat(db: Connection, name: str, *, slots: int, labels: tuple[str, ...], version: str) -> None:
    """Record that the host lives, now by the database's clock; a new one is not drained."""
    values = {"seen_at": database_now(db), "slots": slots, "labels": labels, "version": version}
    if not change(db, hosts, {"name": name}, **values):
        insert(db, hosts, {"name": name, "drained": False, **values})


def list_hosts(db: Connection) -> HostList:
    return HostList(list_rows(db, HostRow, hosts, "name"), database_now(db))


def drain(db: Connection, name: str, *, drained: bool) -> bool:
    """Let the host take no more runs, or again some; False for an unknown one."""
    return change(db, hosts, {"name": name}, drained=drained) > 0


def drop_silent(db: Connection, before: datetime) -> int:
    """Forget the hosts without a heartbeat since then, and all results of before; return how many hosts.

    Drained ones stay: somebody said something about them.
    """
    examinations.drop_older(db, before)
    return db.execute(hosts.delete().where(hosts.c.seen_at < before, ~hosts.c.drained)).rowcount


def remove_host(db: Connection, name: str) -> bool:
    """Forget the host and its results; False for an unknown one.

    One that lives is there again with its next heartbeat.
    """
    examinations.forget_host(db, name)
    return drop(db, hosts, name=name) > 0
