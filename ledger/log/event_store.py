"""The event log: appended in one transaction with every view, read in order, never changed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select

from ledger import views
from ledger.codec import decode, encode
from ledger.db.rows import insert
from ledger.db.statements import statement
from ledger.db.tables import events
from ledger.db.transactions import reading, writing
from ledger.errors import LateWriterError
from ledger.event import Event, Recorded
from ledger.log.hash_chain import link, newest
from ledger.queue import leases

__all__ = ["Fence", "append", "last_seq", "read", "reading", "version", "writing"]

# Makes its events once the transaction is open in which they are appended.
EventFactory = Callable[[Connection], tuple[Event, ...]]


def no_events(_db: Connection) -> tuple[Event, ...]:
    """Return no events: an EventFactory for nothing new."""
    return ()


_COLUMNS = (events.c.seq, events.c.stream, events.c.version, events.c.at, events.c.kind, events.c.body)


@statement
def _version(stream: Any) -> Select[Any]:
    return select(func.max(events.c.version)).where(events.c.stream == stream)


@statement
def _later(after: Any, most: Any) -> Select[Any]:
    return select(*_COLUMNS).where(events.c.seq > after).order_by(events.c.seq).limit(most)


@statement
def _later_of(stream: Any, after: Any, most: Any) -> Select[Any]:
    mine = select(*_COLUMNS).where(events.c.stream == stream, events.c.seq > after)
    return mine.order_by(events.c.seq).limit(most)


@dataclass(frozen=True, slots=True)
class Fence:
    """The claim that a writer believes to hold: the lease's name and the generation it got with it."""

    name: str
    generation: int


def append(
    db: Connection, *new: Event, at: datetime, expected: int | None = None, fence: Fence | None = None
) -> tuple[Recorded, ...]:
    """Append `new` inside `writing`, fold each into every view, and return them as the log holds them.

    `expected` is the version that the first event's stream must be at. Raises LateWriterError when it is not,
    StaleClaimError when the fence's lease has another generation or none, IllegalStepError when a view's
    check refuses a step, UnfitEventError for a field of the wrong type. The caller's transaction must then be
    given up.
    """
    if fence is not None:
        leases.require(db, fence.name, fence.generation)
    versions: dict[str, int] = {}
    if new and expected is not None:
        stream = new[0].stream
        versions[stream] = version(db, stream)
        if versions[stream] != expected:
            raise LateWriterError(stream, expected, versions[stream])
    head = newest(db)
    seq, digest = head.events, head.head
    recorded = []
    for event in new:
        kind, body = encode(event)
        event = decode(kind, body)  # what a replay will see, not what the writer meant
        stream = event.stream
        seq, current = seq + 1, versions.get(stream)
        versions[stream] = (version(db, stream) if current is None else current) + 1
        for check in views.guards():
            check(db, event)
        digest = link(digest, seq, stream, versions[stream], at, kind, body)
        row = Recorded(seq, stream, versions[stream], at.astimezone(UTC), event)
        columns = {"seq": seq, "stream": stream, "version": row.version, "at": at, "kind": kind}
        insert(db, events, {**columns, "body": body, "digest": digest})
        for view in views.parts():
            view.fold(db, row)
        recorded.append(row)
    return tuple(recorded)


def read(
    db: Connection, *, after: int = 0, limit: int = 500, stream: str | None = None
) -> tuple[Recorded, ...]:
    """Return at most `limit` events later than `after`, oldest first, of one stream or of all."""
    query = _later if stream is None else _later_of
    rows = query.all(db, {"stream": stream, "after": after, "most": limit})
    return tuple(
        [Recorded(seq, of, version, at, decode(kind, body)) for seq, of, version, at, kind, body in rows]
    )


def last_seq(db: Connection) -> int:
    """Return the number of the newest event; 0 for an empty log."""
    return newest(db).events


def version(db: Connection, stream: str) -> int:
    """Return how many events the stream has."""
    return _version.scalar(db, {"stream": stream}) or 0
