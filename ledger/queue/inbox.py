"""The inbox: every delivery that was accepted with 202, until its events are in the log."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Select, Update, func, or_, select
from sqlalchemy.exc import IntegrityError

from ledger.db.clock import database_now
from ledger.db.rows import all_rows, change, insert, pick, value
from ledger.db.statements import statement
from ledger.db.tables import inbox
from ledger.db.transactions import reading, writing
from ledger.errors import StaleClaimError
from ledger.ids import DeliveryId

_IS_OPEN = or_(inbox.c.state == "waiting", inbox.c.state == "claimed")


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
class Quarantined:
    """A delivery that failed too often; `error` is the last failure."""

    delivery_id: DeliveryId
    event: str
    action: str
    received_at: datetime
    attempts: int
    error: str


def _deliveries() -> Select[Any]:
    names = ("delivery_id", "event", "action", "payload", "received_at", "attempts")
    return select(*(inbox.c[name] for name in names))


@statement
def _delivery(delivery_id: Any) -> Select[Any]:
    return _deliveries().where(inbox.c.delivery_id == delivery_id)


def _read(
    delivery_id: DeliveryId, event: str, action: str, payload: str, at: datetime, attempt: int
) -> Delivery:
    return Delivery(delivery_id, event, action, payload.encode(), at, attempt)


@statement
def _claim(delivery_id: Any, now: Any, until: Any) -> Update:
    lapsed = (inbox.c.state == "claimed") & (inbox.c.due_at <= now)
    mine = (inbox.c.delivery_id == delivery_id) & ((inbox.c.state == "waiting") | lapsed)
    return inbox.update().where(mine).values(state="claimed", due_at=until, attempts=inbox.c.attempts + 1)


@statement
def _due(now: Any, most: Any) -> Select[Any]:
    query = select(inbox.c.delivery_id).where(_IS_OPEN, inbox.c.due_at <= now)
    return query.order_by(inbox.c.due_at).limit(most)


def store(engine: Engine, delivery: Delivery) -> bool:
    """Keep the delivery; True only once it is on disk, False when it was known already."""
    row = {
        "delivery_id": delivery.delivery_id,
        "event": delivery.event,
        "action": delivery.action,
        # JSON may hold no byte that UTF-8 does not explain; what comes anyway must not be lost before it is
        # judged
        "payload": delivery.payload.decode("utf-8", "replace").replace("\x00", "\ufffd"),
        "received_at": delivery.received_at,
        "state": "waiting",
        "attempts": 0,
        "error": "",
    }
    try:
        with writing(engine) as db:
            insert(db, inbox, {**row, "due_at": database_now(db)})
    except IntegrityError:
        return False
    return True


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
        row = _delivery.first(db, {"delivery_id": delivery_id})
    return _read(*row) if row is not None else None


def settle(db: Connection, claimed: Delivery, now: datetime) -> None:
    """Mark the delivery done, in the transaction of its events; its payload is dropped.

    Raises StaleClaimError when the claim ran out and somebody else took it over.
    """
    done = {"state": "done", "settled_at": now, "error": "", "payload": "{}"}
    if not change(db, inbox, _mine(claimed), **done):
        attempts = value(db, inbox.c.attempts, delivery_id=claimed.delivery_id)
        raise StaleClaimError(f"delivery:{claimed.delivery_id}", claimed.attempt, attempts or 0)


def fail(engine: Engine, claimed: Delivery, error: str, *, retry_in_s: float, max_attempts: int) -> bool:
    """Give the delivery back to be tried again in `retry_in_s`; True when it was quarantined instead.

    Nothing happens to one that somebody else took over meanwhile.
    """
    spent = claimed.attempt >= max_attempts
    given_back = {"state": "quarantined" if spent else "waiting", "error": error[:2000]}
    with writing(engine) as db:
        due_at = database_now(db) + timedelta(seconds=retry_in_s)
        changed = change(db, inbox, _mine(claimed), due_at=due_at, **given_back)
    return spent and bool(changed)


def due(engine: Engine, *, limit: int, late_s: float = 0.0) -> tuple[DeliveryId, ...]:
    """Return deliveries that nobody works on and that may be tried for `late_s` by now, the oldest first."""
    with reading(engine) as db:
        now = database_now(db) - timedelta(seconds=late_s)
        return tuple([delivery_id for (delivery_id,) in _due.all(db, {"now": now, "most": limit})])


def waiting(db: Connection, delivery_ids: Collection[DeliveryId]) -> tuple[Delivery, ...]:
    """Return those of the deliveries that wait and that nobody works on, in the order given."""
    query = _deliveries().where(inbox.c.delivery_id.in_(tuple(delivery_ids)), inbox.c.state == "waiting")
    rows = {row[0]: _read(*row) for row in db.execute(query)}
    return tuple(rows[delivery_id] for delivery_id in dict.fromkeys(delivery_ids) if delivery_id in rows)


def settle_waiting(db: Connection, delivery_id: DeliveryId, now: datetime) -> bool:
    """Mark a delivery done that nobody claimed, in the transaction of its events; False when somebody did.

    Its payload is dropped.
    """
    mine = {"delivery_id": delivery_id, "state": "waiting"}
    return bool(change(db, inbox, mine, state="done", settled_at=now, error="", payload="{}"))


def known(db: Connection, delivery_id: DeliveryId) -> bool:
    """Tell whether the delivery ever came, whatever became of it."""
    return value(db, inbox.c.state, delivery_id=delivery_id) is not None


def get(db: Connection, delivery_id: DeliveryId) -> Delivery | None:
    """Return the delivery whatever its state; None when it is unknown."""
    row = _delivery.first(db, {"delivery_id": delivery_id})
    return replace(_read(*row), attempt=0) if row is not None else None


def quarantined(db: Connection, delivery_id: DeliveryId | None = None) -> tuple[Quarantined, ...]:
    """Return the deliveries that failed too often, or the one asked for, the oldest first."""
    query = pick(Quarantined, inbox).where(inbox.c.state == "quarantined").order_by(inbox.c.received_at)
    if delivery_id is not None:
        query = query.where(inbox.c.delivery_id == delivery_id)
    return all_rows(db, Quarantined, query)


def replay(db: Connection, delivery_id: DeliveryId) -> bool:
    """Let a quarantined delivery be tried again from its first attempt; False when it is not quarantined."""
    mine = {"delivery_id": delivery_id, "state": "quarantined"}
    return bool(change(db, inbox, mine, state="waiting", attempts=0, due_at=database_now(db)))


def _mine(claimed: Delivery) -> dict[str, object]:
    return {"delivery_id": claimed.delivery_id, "state": "claimed", "attempts": claimed.attempt}


def counts(db: Connection) -> dict[str, int]:
    """Return how many deliveries are waiting, claimed, done and quarantined."""
    by_state = dict.fromkeys(("waiting", "claimed", "done", "quarantined"), 0)
    for state, count in db.execute(select(inbox.c.state, func.count()).group_by(inbox.c.state)):
        by_state[state] = count
    return by_state
