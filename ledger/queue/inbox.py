"""The inbox: every delivery that was accepted with 202, kept until no repeat of it can come.

Deliveries that this ledger lost, as those after the back-up that it is, are searched for on GitHub. The
beginning of the search is a cursor, at a Unix time; at 0 nothing is searched.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Select,
    TextClause,
    Update,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    text,
)

from ledger.db.clock import database_now
from ledger.db.column_types import stamp, storable
from ledger.db.rows import (
    all_rows,
    change,
    drop,
    fields_for,
    find,
    insert_all,
    keep,
    list_rows,
    pick,
    value,
    values,
)
from ledger.db.statements import Statement, drive, statement
from ledger.db.tables import cursors, inbox
from ledger.db.transactions import reading, writing
from ledger.errors import StaleClaimError
from ledger.ids import DeliveryId

SEARCH = "lost deliveries"
OVERLAP = timedelta(minutes=10)  # far more than between the starts of programs, or two clocks
MAX_ROWS = 100  # of one INSERT: SQLite takes 32,766 parameters
MAX_COUNTED = 10_000  # so that a count costs the same however large the inbox is
# Spelt as in the partial indexes: SQLite sees no other spelling, and PostgreSQL no parameter, as the same.
_IS_OPEN = text("inbox.state IN ('waiting', 'claimed')")
_IS_DONE = text("inbox.state = 'done'")
_IS_QUARANTINED = text("inbox.state = 'quarantined'")
_STORED = (
    *("delivery_id", "event", "action", "payload", "received_at"),
    *("state", "attempts", "error", "due_at"),
)


def begin_search(db: Connection, now: datetime) -> None:
    """Have GitHub searched from before the newest delivery on; tickers call it when they start.

    A web server may receive already, so deliveries of the last minutes say nothing about those before.
    """
    before = select(func.max(inbox.c.received_at)).where(inbox.c.received_at < now - OVERLAP)
    newest = db.scalar(before) or db.scalar(select(func.min(inbox.c.received_at)))
    if newest is not None:
        from_s, begun_s = int((newest - OVERLAP).timestamp()), _since_s(db)
        keep(db, cursors, {"reader": SEARCH}, {"position": min(from_s, begun_s or from_s)})


def search_start(db: Connection) -> datetime | None:
    """Return from when on GitHub is to be searched; None for not at all."""
    since_s = _since_s(db)
    return datetime.fromtimestamp(since_s, UTC) if since_s else None


def end_search(db: Connection, since: datetime) -> None:
    """Remember that all since then were requested, unless a search from earlier on has begun."""
    change(db, cursors, {"reader": SEARCH, "position": int(since.timestamp())}, position=0)


def _since_s(db: Connection) -> int:
    return value(db, cursors.c.position, reader=SEARCH) or 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook request as it came; `payload` is raw JSON, `action` is empty where GitHub sends none.

    `attempt` tells one claim of it from the next; 0 for one that nobody claimed.
    """

    delivery_id: DeliveryId
    event: str
    action: str
    payload: bytes
    received_at: datetime
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    """What every delivery has in its row."""

    delivery_id: DeliveryId
    event: str
    action: str
    received_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Quarantined(_Row):
    """A delivery that failed too often; `error` is the last failure."""

    error: str


@dataclass(frozen=True, slots=True)
class _Kept(_Row):
    """What stays of a delivery that is done."""

    due_at: datetime


@dataclass(frozen=True, slots=True)
class _Stored(_Row):
    payload: str

    def read(self) -> Delivery:
        where = self.delivery_id, self.event, self.action
        return Delivery(*where, self.payload.encode(), self.received_at, self.attempts)


@statement
def _claim(delivery_id: Any, now: Any, until: Any) -> Update:
    lapsed = (inbox.c.state == "claimed") & (inbox.c.due_at <= now)
    mine = (inbox.c.delivery_id == delivery_id) & ((inbox.c.state == "waiting") | lapsed)
    return inbox.update().where(mine).values(state="claimed", due_at=until, attempts=inbox.c.attempts + 1)


@statement
def _due(now: Any, most: Any) -> Select[Any]:
    query = select(inbox.c.delivery_id).where(_IS_OPEN, inbox.c.due_at <= now)
    return query.order_by(inbox.c.due_at).limit(most)


def _drop_oldest(condition: TextClause, moment: Column[Any]) -> Statement:
    query = select(inbox.c.delivery_id).where(condition, moment < bindparam("before", type_=moment.type))
    oldest = query.order_by(moment).limit(bindparam("most"))
    return Statement(inbox.delete().where(inbox.c.delivery_id.in_(oldest)))


_DROP_DONE = _drop_oldest(_IS_DONE, inbox.c.settled_at)
_DROP_QUARANTINED = _drop_oldest(_IS_QUARANTINED, inbox.c.received_at)


@cache
def _select_count(state: str) -> Statement:
    is_open = _IS_OPEN if state in ("waiting", "claimed") else text("TRUE")
    mine = select(literal(1)).where(is_open, inbox.c.state == literal_column(f"'{state}'")).limit(MAX_COUNTED)
    return Statement(select(func.count()).select_from(mine.subquery()))


def store_deliveries(
    engine: Engine, *given: Delivery, more: Callable[[], Sequence[Delivery]] = tuple
) -> frozenset[DeliveryId]:
    """Keep the deliveries, all or none, in one transaction; return those that were not known already.

    `more` gives others, once it is the turn to write. They are on disk when it returns.
    """
    with writing(engine, urgent=True) as db:  # GitHub waits for the answer
        deliveries, now = (*given, *more()), database_now(db)
        return frozenset(
            [
                DeliveryId(new)
                for first in range(0, len(deliveries), MAX_ROWS)
                for new in _insert(db, deliveries[first : first + MAX_ROWS], now)
            ]
        )


def _insert(db: Connection, deliveries: Sequence[Delivery], now: datetime) -> list[str]:
    """Insert the unknown ones of the deliveries; return their ids."""
    row_values: list[object] = []
    for delivery in deliveries:
        # JSON may hold no byte that UTF-8 does not explain; what comes anyway must not be lost before it is
        # judged
        payload = delivery.payload.decode("utf-8", "replace").replace("\x00", "\ufffd")
        row_values += (
            delivery.delivery_id,
            storable(delivery.event),
            storable(delivery.action),
            payload,
            stamp(delivery.received_at),
        )
        row_values += ("waiting", 0, "", stamp(now))
    mark = "?" if db.dialect.name == "sqlite" else "%s"
    row = f"({', '.join([mark] * len(_STORED))})"
    into = f"INSERT INTO inbox ({', '.join(_STORED)}) VALUES {', '.join([row] * len(deliveries))}"  # noqa: S608 -- names and marks
    sql = f"{into} ON CONFLICT DO NOTHING RETURNING delivery_id"
    return [new for (new,) in drive(db, sql, row_values).fetchall()]


def claim(engine: Engine, delivery_id: DeliveryId, *, lease_s: float) -> Delivery | None:
    """Return the delivery for the caller alone to record; None when it is done, quarantined or in other
    hands.

    The attempt is counted before the work, so that a delivery that kills its worker runs out of attempts too.
    """
    with writing(engine) as db:
        now = database_now(db)
        until = now + timedelta(seconds=lease_s)
        if not _claim.run(db, {"delivery_id": delivery_id, "now": now, "until": until}):
            return None
        stored = find(db, _Stored, inbox, delivery_id=delivery_id)
    return stored.read() if stored is not None else None


def settle(db: Connection, claimed: Delivery, now: datetime) -> None:
    """Mark the delivery done, in the transaction of its events; its payload is dropped.

    Raises StaleClaimError when the claim ran out and somebody else took it over.
    """
    if not _finish(db, now, **_mine(claimed)):
        attempts = value(db, inbox.c.attempts, delivery_id=claimed.delivery_id)
        raise StaleClaimError(f"delivery:{claimed.delivery_id}", claimed.attempt, attempts or 0)


def record_failure(
    engine: Engine, claimed: Delivery, error: str, *, retry_in_s: float, max_attempts: int
) -> bool:
    """Give the delivery back to be tried again in `retry_in_s`; True when it was quarantined instead.

    Nothing happens to one that somebody else took over meanwhile.
    """
    spent = claimed.attempt >= max_attempts
    given_back = {"state": "quarantined" if spent else "waiting", "error": error[:2000]}
    with writing(engine) as db:
        due_at = database_now(db) + timedelta(seconds=retry_in_s)
        changed = change(db, inbox, _mine(claimed), due_at=due_at, **given_back)
    return spent and bool(changed)


def due_deliveries(engine: Engine, *, limit: int, late_s: float = 0.0) -> tuple[DeliveryId, ...]:
    """Return deliveries that nobody works on and that may be tried for `late_s` by now, the oldest first."""
    with reading(engine) as db:
        now = database_now(db) - timedelta(seconds=late_s)
        return tuple([delivery_id for (delivery_id,) in _due.all(db, {"now": now, "most": limit})])


def still_waiting(db: Connection, delivery_ids: Collection[DeliveryId]) -> tuple[Delivery, ...]:
    """Return those of the deliveries that wait and that nobody works on, in the order given."""
    ids = tuple(dict.fromkeys(delivery_ids))
    stored = list_rows(db, _Stored, inbox, delivery_id=ids, state="waiting")
    waiting = {it.delivery_id: it.read() for it in stored}
    return tuple([waiting[delivery_id] for delivery_id in ids if delivery_id in waiting])


def list_claimed(db: Connection, delivery_ids: Collection[DeliveryId]) -> tuple[DeliveryId, ...]:
    """Return those of the deliveries that somebody claimed: whoever was killed then left them to others."""
    return values(db, inbox.c.delivery_id, delivery_id=tuple(delivery_ids), state="claimed")


def settle_waiting(db: Connection, delivery_ids: Collection[DeliveryId], now: datetime) -> int:
    """Mark those deliveries done that nobody claimed, in the transaction of their events; return how many.

    Their payloads are dropped.
    """
    return _finish(db, now, delivery_id=tuple(delivery_ids), state="waiting")


def _finish(db: Connection, now: datetime, **key: Any) -> int:
    """Mark the deliveries with that key done, without their payloads; return how many those are.

    Each row is written again elsewhere: SQLite leaves one that shrinks alone on the page of its payload.
    """
    done = list_rows(db, _Kept, inbox, **key)
    drop(db, inbox, **key)
    settled = {"payload": "{}", "state": "done", "error": "", "settled_at": now}
    insert_all(db, inbox, [{**fields_for(inbox, row), **settled} for row in done])
    return len(done)


def is_known(db: Connection, delivery_id: DeliveryId) -> bool:
    """Tell whether the delivery ever came, whatever became of it."""
    return value(db, inbox.c.state, delivery_id=delivery_id) is not None


def get(db: Connection, delivery_id: DeliveryId) -> Delivery | None:
    """Return the delivery whatever its state; None when it is unknown."""
    stored = find(db, _Stored, inbox, delivery_id=delivery_id)
    return replace(stored.read(), attempt=0) if stored is not None else None


def list_quarantined(db: Connection, *, limit: int | None = None) -> tuple[Quarantined, ...]:
    """Return the deliveries that failed too often, the oldest first."""
    query = pick(Quarantined, inbox).where(_IS_QUARANTINED).order_by(inbox.c.received_at).limit(limit)
    return all_rows(db, Quarantined, query)


def replay(db: Connection, delivery_id: DeliveryId) -> bool:
    """Let a quarantined delivery be tried again from its first attempt; False when it is not quarantined."""
    mine = {"delivery_id": delivery_id, "state": "quarantined"}
    return bool(change(db, inbox, mine, state="waiting", attempts=0, due_at=database_now(db)))


def _mine(claimed: Delivery) -> dict[str, object]:
    return {"delivery_id": claimed.delivery_id, "state": "claimed", "attempts": claimed.attempt}


def delivery_counts(
    db: Connection, states: Sequence[str] = ("waiting", "claimed", "done", "quarantined")
) -> dict[str, int]:
    """Return how many deliveries are in each of the states; MAX_COUNTED: so many or more."""
    return {state: _select_count(state).scalar(db, {}) for state in states}


def drop_done(db: Connection, before: datetime, limit: int) -> int:
    """Drop deliveries that were done before then, the oldest first, `limit` at most; return how many.

    One that is sent once more afterwards counts as new.
    """
    return _DROP_DONE.run(db, {"before": before, "most": limit})


def drop_quarantined(db: Connection, before: datetime, limit: int) -> int:
    """Drop quarantined deliveries that came before then, as `drop_done` does."""
    return _DROP_QUARANTINED.run(db, {"before": before, "most": limit})
