"""The hash chain: each event's digest covers the one before it, so that no past event can change unseen."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Connection, Text, cast, func, select

from ledger.codec import canonical
from ledger.db.column_types import stamp
from ledger.db.rows import value
from ledger.db.statements import Statement
from ledger.db.tables import events
from ledger.errors import BrokenChainError

GENESIS = "0" * 64  # what the first event's digest covers
PAGE = 1000
# The columns that a digest covers; `at` as it is written.
_LINKED = (
    *(events.c.seq, events.c.stream, events.c.version, cast(events.c.at, Text), events.c.kind),
    events.c.body,
)
_NEWEST = Statement(select(events.c.seq, events.c.digest).order_by(events.c.seq.desc()).limit(1))


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The count of checked events and the last digest; a copy kept elsewhere reveals a cut-off end."""

    events: int
    head: str


def link(
    before: str, seq: int, stream: str, version: int, at: datetime | str, *, kind: str, body: str
) -> str:
    """Return the digest of an event whose predecessor has the digest `before`."""
    when = at if isinstance(at, str) else stamp(at)
    return sha256((before + canonical([seq, stream, version, when, kind, body])).encode()).hexdigest()


def verify_chain(db: Connection, upto: int | None = None) -> ChainReport:
    """Return the report on all events, or on those up to `upto`.

    Raises BrokenChainError at the first event that does not follow from the one before it.
    """
    seq, head = 0, GENESIS
    while True:
        query = select(*_LINKED, events.c.digest).where(events.c.seq > seq)
        if upto is not None:
            query = query.where(events.c.seq <= upto)
        page = db.execute(query.order_by(events.c.seq).limit(PAGE)).all()
        for number, stream, version, at, kind, body, digest in page:
            if number != seq + 1 or digest != link(head, number, stream, version, at, kind=kind, body=body):
                raise BrokenChainError(number)
            seq, head = number, digest
        if len(page) < PAGE:
            return ChainReport(seq, head)


@dataclass(frozen=True, slots=True)
class Link:
    """One event as the chain holds it: `at` and `body` as they are written, `before` the digest before it."""

    seq: int
    stream: str
    version: int
    at: str
    kind: str
    body: str
    before: str
    digest: str


def links_of(
    db: Connection, stream: str, *, upto: int, kinds: Collection[str] = (), most: int = 0
) -> tuple[Link, ...]:
    """Return the stream's events up to the event `upto`, of those kinds or of all, the oldest first.

    With `most` only so many of the newest.
    """
    previous = events.alias("previous")
    before = func.coalesce(previous.c.digest, GENESIS)
    query = (
        select(*_LINKED, before, events.c.digest)
        .outerjoin(previous, previous.c.seq == events.c.seq - 1)
        .where(events.c.stream == stream, events.c.seq <= upto)
        .order_by(events.c.seq.desc())
    )
    if kinds:
        query = query.where(events.c.kind.in_(sorted(kinds)))
    if most:
        query = query.limit(most)
    return tuple(Link(*row) for row in db.execute(query))[::-1]


def digest_at(db: Connection, seq: int) -> str:
    """Return the digest of the event of that number; empty when there is none, the genesis for 0."""
    if seq == 0:
        return GENESIS
    return value(db, events.c.digest, seq=seq) or ""


def newest(db: Connection) -> ChainReport:
    """Return the number of the newest event and its digest, unchecked; the genesis for an empty log."""
    row = _NEWEST.first(db, {})
    return ChainReport(*row) if row else ChainReport(0, GENESIS)
