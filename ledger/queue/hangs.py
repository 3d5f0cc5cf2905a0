"""Hangs: work that hung its worker lately, and how often in a row. After MAX_HANGS times it is set aside.

Kept as leases: the holder is the count, and a day after the last hang it is over.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from ledger.db.clock import database_now
from ledger.db.rows import list_rows
from ledger.db.tables import leases as table
from ledger.queue import leases
from ledger.queue.leases import Lease

MAX_HANGS = 3
KEPT_S = 86_400.0
_PREFIX = "hung:"


@dataclass(frozen=True, slots=True)
class Hang:
    """A kind of work and the name of its subject, as `delivery:ID`; `until` then it is not forgotten."""

    name: str
    times: int
    until: datetime

    @property
    def set_aside(self) -> bool:
        """Whether no worker takes it."""
        return self.times >= MAX_HANGS


def count_hang(db: Connection, names: Collection[str]) -> tuple[Hang, ...]:
    known = hang_counts(db, names)
    for name in names:
        holder = str(known.get(name, 0) + 1)
        leases.release(db, Lease(_PREFIX + name, "", leases.generation(db, _PREFIX + name), database_now(db)))
        leases.take(db, _PREFIX + name, holder, ttl_s=KEPT_S)
    return tuple(hang for hang in all_hangs(db) if hang.name in names)


def forget_hangs(db: Connection, names: Collection[str]) -> None:
    """Forget the hangs of work that a worker got through, or that a person lets try again."""
    for name in hang_counts(db, names):
        leases.release(db, Lease(_PREFIX + name, "", leases.generation(db, _PREFIX + name), database_now(db)))


def hang_counts(db: Connection, names: Collection[str]) -> Mapping[str, int]:
    """Return how often in a row these hung their workers, of those that did."""
    mine = tuple(_PREFIX + name for name in names)
    return (
        {hang.name: hang.times for hang in _live(db, list_rows(db, Lease, table, name=mine))} if mine else {}
    )


def all_hangs(db: Connection) -> tuple[Hang, ...]:
    """Return all that hung a worker within a day."""
    query = list_rows(db, Lease, table, "name")
    return _live(db, tuple(lease for lease in query if lease.name.startswith(_PREFIX)))


def _live(db: Connection, held: Collection[Lease]) -> tuple[Hang, ...]:
    now = database_now(db)
    return tuple(
        Hang(lease.name.removeprefix(_PREFIX), int(lease.holder), lease.until)
        for lease in held
        if lease.holder and lease.until > now
    )
