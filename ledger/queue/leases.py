"""Leases: exclusive claims with an end and a generation. A generation is never given twice.

All of it goes by the database's clock: no host's decides whether a claim is over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Select, select, text

from ledger.db.clock import database_now
from ledger.db.rows import all_rows, change, find, keep, pick, value
from ledger.db.statements import Statement, statement
from ledger.db.tables import leases
from ledger.db.transactions import writing
from ledger.errors import StaleClaimError

_HELD = text("holder <> ''")  # spelt out: SQLite uses a partial index only for conditions that it can read


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on `name` until `until`."""

    name: str
    holder: str
    generation: int
    until: datetime


def take(db: Connection, name: str, holder: str, *, ttl_s: float) -> Lease | None:
    """Return a lease of a new generation; None while somebody else's is alive.

    A holder that takes its own again gets a new generation too: its writes from before the restart are stale.
    """
    held_lease, now = find(db, Lease, leases, name=name), database_now(db)
    if held_lease is not None and held_lease.holder not in ("", holder) and held_lease.until > now:
        return None
    lease = Lease(
        name, holder, (held_lease.generation if held_lease else 0) + 1, now + timedelta(seconds=ttl_s)
    )
    keep(db, leases, {"name": name}, {"holder": holder, "generation": lease.generation, "until": lease.until})
    return lease


def due(db: Connection, name: str, *, every_s: float) -> bool:
    """Tell whether `name` is due again; of all callers one gets True, and does it now."""
    lease = find(db, Lease, leases, name=name)
    if lease is not None and lease.until > database_now(db):
        return False
    take(db, name, name, ttl_s=every_s)
    return True


def renew(db: Connection, lease: Lease, *, ttl_s: float) -> Lease:
    """Return the lease with a later end. Raises StaleClaimError when it was taken over or released."""
    require(db, lease.name, lease.generation)
    until = database_now(db) + timedelta(seconds=ttl_s)
    change(db, leases, {"name": lease.name}, until=until)
    return Lease(lease.name, lease.holder, lease.generation, until)


def find_held(db: Connection, name: str, wanted: int) -> Lease | None:
    """Return the lease of `name` in the generation `wanted`; None once it was taken over or released."""
    lease = find(db, Lease, leases, name=name, generation=wanted)
    return lease if lease is not None and lease.holder else None


def release(db: Connection, lease: Lease) -> None:
    """Give the lease back; nothing happens when it was taken over meanwhile."""
    change(db, leases, {"name": lease.name, "generation": lease.generation}, holder="")


@contextmanager
def lease_held(engine: Engine, name: str, holder: str, *, ttl_s: float) -> Iterator[Lease | None]:
    """Hold a lease meanwhile; None, and nothing is held, while somebody else's is alive.

    Who is killed meanwhile holds it until it ends.
    """
    with writing(engine) as db:
        lease = take(db, name, holder, ttl_s=ttl_s)
    try:
        yield lease
    finally:
        if lease is not None:
            with writing(engine) as db:
                release(db, lease)


def list_expired(db: Connection, prefix: str) -> tuple[Lease, ...]:
    """Return the expired leases with that `prefix` that nobody released or took over."""
    out = all_rows(db, Lease, _select_expired, now=database_now(db))
    return tuple(lease for lease in out if lease.name.startswith(prefix))


@statement
def _select_expired(now: Any) -> Select[Any]:
    return pick(Lease, leases).where(_HELD, leases.c.until <= now).order_by(leases.c.until)


def holders(db: Connection) -> tuple[str, ...]:
    return tuple([holder for (holder,) in _HOLDERS.all(db, {})])


_HOLDERS = Statement(select(leases.c.holder).where(_HELD).distinct())


def holder(db: Connection, name: str) -> str:
    """Return who holds the lease, or held it last; empty when nobody does."""
    return value(db, leases.c.holder, name=name) or ""


def lapse(db: Connection, holder: str) -> int:
    """Let the leases of `holder`, who is known to be dead, run out now; return how many."""
    now = database_now(db)
    condition = (leases.c.holder == holder) & (leases.c.until > now)
    return int(db.execute(leases.update().where(condition).values(until=now)).rowcount)


def generation(db: Connection, name: str) -> int:
    """Return the newest generation of `name`; 0 when it was never taken."""
    return value(db, leases.c.generation, name=name) or 0


def require(db: Connection, name: str, wanted: int) -> None:
    """Raise StaleClaimError unless `name` is held in the generation `wanted`."""
    lease = find(db, Lease, leases, name=name)
    current = lease.generation if lease is not None and lease.holder else 0
    if current != wanted:
        raise StaleClaimError(name, wanted, current)
