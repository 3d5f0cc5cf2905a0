"""The event log: appended in one transaction with every view, read in order by cursors, never changed."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, func, select

from ledger import views
from ledger.codec import decode, encode_event
from ledger.db.column_types import stamp
from ledger.db.rows import change, insert, value
from ledger.db.statements import Statement, statement
from ledger.db.tables import cursors, events
from ledger.db.transactions import reading, writing
from ledger.errors import LateWriterError
from ledger.event import Event, Recorded
from ledger.log.hash_chain import GENESIS, link, newest
from ledger.queue import leases

__all__ = ["Fence", "append", "last_seq", "read", "reading", "stream_version", "writing"]
E = TypeVar("E", bound=Event)
# Makes its events once the transaction is open in which they are appended.
EventFactory = Callable[[Connection], tuple[Event, ...]]
_COLUMNS = (events.c.seq, events.c.stream, events.c.version, events.c.at, events.c.kind, events.c.body)
_insert = Statement(events.insert(), events.c.keys())


def position(db: Connection, reader: str) -> int:
    """Return the number of the last event that `reader` is done with; 0 at first."""
    return value(db, cursors.c.position, reader=reader) or 0


def advance_cursor(db: Connection, reader: str, *, before: int, after: int) -> None:
    """Move `reader` from `before` to `after`. Raises LateWriterError when it is not at `before` any more."""
    if change(db, cursors, {"reader": reader, "position": before}, position=after):
        return
    current = position(db, reader)
    if current != before:
        raise LateWriterError(f"reader:{reader}", before, current)
    insert(db, cursors, {"reader": reader, "position": after})


def no_events(_db: Connection) -> tuple[Event, ...]:
    """Return no events: an EventFactory for nothing new."""
    return ()


@statement
def _version(stream: Any) -> Select[Any]:
    return select(func.max(events.c.version)).where(events.c.stream == stream)


@statement
def _head(stream: Any) -> Select[Any]:
    """The newest event's number and digest, and the version of a stream."""
    version = select(func.max(events.c.version)).where(events.c.stream == stream).scalar_subquery()
    return select(events.c.seq, events.c.digest, version).order_by(events.c.seq.desc()).limit(1)


@statement
def _kinds(after: Any, most: Any) -> Select[Any]:
    return select(events.c.kind).where(events.c.seq > after).order_by(events.c.seq).limit(most)


@statement
def _streams(after: Any, most: Any) -> Select[Any]:
    later = select(events.c.seq, events.c.stream).where(events.c.seq > after)
    return later.order_by(events.c.seq).limit(most)


@statement
def _digest(stream: Any) -> Select[Any]:
    mine = select(events.c.digest).where(events.c.stream == stream)
    return mine.order_by(events.c.version.desc()).limit(1)


@statement
def _newest_of(stream: Any, kind: Any, most: Any) -> Select[Any]:
    mine = (events.c.stream == stream) & (events.c.kind == kind)
    return select(events.c.at, events.c.body).where(mine).order_by(events.c.version.desc()).limit(most)


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
    if not new:
        return ()
    first = new[0].stream
    seq, digest, current = _head.first(db, {"stream": first}) or (0, GENESIS, None)
    versions = {first: current or 0}
    if expected is not None and versions[first] != expected:
        raise LateWriterError(first, expected, versions[first])
    moment, written = at.astimezone(UTC), stamp(at)
    recorded, rows = [], []
    for event in new:
        kind, body, event = encode_event(event)  # as a replay will see it, not as the writer meant it
        stream, seq = event.stream, seq + 1
        current = versions.get(stream)
        versions[stream] = (stream_version(db, stream) if current is None else current) + 1
        for check in views.view_checks():
            check(db, event)
        digest = link(digest, seq, stream, versions[stream], written, kind=kind, body=body)
        row = Recorded(seq, stream, versions[stream], moment, event)
        rows.append(
            {
                "seq": seq,
                "stream": stream,
                "version": row.version,
                "at": moment,
                "kind": kind,
                "body": body,
                "digest": digest,
            }
        )
        for step in views.fold_steps(kind):
            step(db, row, event)
        recorded.append(row)
    _insert.run_all(db, rows)
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


def read_kinds(
    db: Connection, kinds: Collection[str], *, after: int, until: int, limit: int
) -> tuple[Recorded, ...]:
    """Return at most `limit` events of these kinds later than `after` and up to `until`, the oldest first."""
    condition = (events.c.seq > after) & (events.c.seq <= until) & events.c.kind.in_(kinds)
    rows = db.execute(select(*_COLUMNS).where(condition).order_by(events.c.seq).limit(limit))
    return tuple(
        [Recorded(seq, of, version, at, decode(kind, body)) for seq, of, version, at, kind, body in rows]
    )


def newest_of(db: Connection, stream: str, kind: type[E], limit: int) -> tuple[tuple[datetime, E], ...]:
    rows = _newest_of.all(db, {"stream": stream, "kind": kind.__name__, "most": limit})
    decoded = ((at, decode(kind.__name__, body)) for at, body in rows)
    return tuple((at, event) for at, event in decoded if isinstance(event, kind))


def last_seq(db: Connection) -> int:
    """Return the number of the newest event; 0 for an empty log."""
    return newest(db).events


def kinds_after(db: Connection, after: int, *, limit: int) -> list[str]:
    """Return the kinds of at most `limit` events later than `after`, in their order."""
    return [row[0] for row in _kinds.all(db, {"after": after, "most": limit})]


def streams_after(db: Connection, after: int, *, limit: int) -> tuple[int, frozenset[str]]:
    """Return the number of the last of at most `limit` events later than `after`, or `after` itself, and the
    streams of these events.
    """
    rows = _streams.all(db, {"after": after, "most": limit})
    return (rows[-1][0] if rows else after), frozenset(stream for _, stream in rows)


def stream_digest(db: Connection, stream: str) -> str:
    """Return the digest of the stream's newest event, which covers the log up to it; empty without one."""
    return _digest.scalar(db, {"stream": stream}) or ""


def stream_version(db: Connection, stream: str) -> int:
    return _version.scalar(db, {"stream": stream}) or 0
