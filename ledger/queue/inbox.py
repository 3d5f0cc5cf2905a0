"""The inbox: every delivery that was accepted with 202, until its events are in the log."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, func, select
from sqlalchemy.exc import IntegrityError

from ledger.db.rows import all_rows, change, pick, where
from ledger.db.tables import inbox
from ledger.db.transactions import reading, writing
from ledger.errors import StaleClaimError
from ledger.ids import DeliveryId

OPEN = ("waiting", "claimed")


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
        "due_at": delivery.received_at,
        "state": "waiting",
        "attempts": 0,
        "error": "",
    }
    try:
        with writing(engine) as db:
            db.execute(inbox.insert().values(**row))
    except IntegrityError:
        return False
    return True


def claim(engine: Engine, delivery_id: DeliveryId, *, now: datetime, lease_s: float) -> Delivery | None:
    """Return the delivery for the caller alone to record; None when it is done, quarantined or in other
    hands.

    The attempt is counted before the work, so that a delivery that kills its worker runs out of attempts too.
    """
    free = inbox.c.state == "waiting"
    lapsed = (inbox.c.state == "claimed") & (inbox.c.due_at <= now)
    mine = (inbox.c.delivery_id == delivery_id) & (free | lapsed)
    with writing(engine) as db:
        held = {"state": "claimed", "due_at": now + timedelta(seconds=lease_s)}
        claimed = inbox.update().where(mine).values(attempts=inbox.c.attempts + 1, **held)
        if not db.execute(claimed).rowcount:
            return None
        row = db.execute(select(inbox).where(inbox.c.delivery_id == delivery_id)).one()
    return replace(_delivery(row), attempt=row.attempts)


def settle(db: Connection, claimed: Delivery, now: datetime) -> None:
    """Mark the delivery done, in the transaction of its events; its payload is dropped.

    Raises StaleClaimError when the claim ran out and somebody else took it over.
    """
    done = inbox.update().where(_mine(claimed)).values(state="done", settled_at=now, error="", payload="{}")
    if not db.execute(done).rowcount:
        attempts = db.scalar(select(inbox.c.attempts).where(inbox.c.delivery_id == claimed.delivery_id))
        raise StaleClaimError(f"delivery:{claimed.delivery_id}", claimed.attempt, attempts or 0)


def fail(
    engine: Engine, claimed: Delivery, error: str, *, now: datetime, retry_in_s: float, max_attempts: int
) -> bool:
    """Give the delivery back to be tried again in `retry_in_s`; True when it was quarantined instead.

    Nothing happens to one that somebody else took over meanwhile.
    """
    spent = claimed.attempt >= max_attempts
    given_back = {
        "state": "quarantined" if spent else "waiting",
        "error": error[:2000],
        "due_at": now + timedelta(seconds=retry_in_s),
    }
    with writing(engine) as db:
        changed = db.execute(inbox.update().where(_mine(claimed)).values(**given_back))
    return spent and bool(changed.rowcount)


def due(engine: Engine, *, now: datetime, limit: int) -> tuple[DeliveryId, ...]:
    """Return deliveries that nobody works on and that may be tried now, the oldest first."""
    query = select(inbox.c.delivery_id).where(inbox.c.state.in_(OPEN), inbox.c.due_at <= now)
    with reading(engine) as db:
        return tuple(db.scalars(query.order_by(inbox.c.due_at).limit(limit)))


def known(db: Connection, delivery_id: DeliveryId) -> bool:
    """Tell whether the delivery ever came, whatever became of it."""
    return db.scalar(select(inbox.c.state).where(inbox.c.delivery_id == delivery_id)) is not None


def get(db: Connection, delivery_id: DeliveryId) -> Delivery | None:
    """Return the delivery whatever its state; None when it is unknown."""
    row = db.execute(select(inbox).where(inbox.c.delivery_id == delivery_id)).first()
    return None if row is None else _delivery(row)


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(row.delivery_id, row.event, row.action, row.payload.encode(), row.received_at)


def quarantined(db: Connection, delivery_id: DeliveryId | None = None) -> tuple[Quarantined, ...]:
    """Return the deliveries that failed too often, or the one asked for, the oldest first."""
    query = pick(Quarantined, inbox).where(inbox.c.state == "quarantined").order_by(inbox.c.received_at)
    if delivery_id is not None:
        query = query.where(inbox.c.delivery_id == delivery_id)
    return all_rows(db, Quarantined, query)


def replay(db: Connection, delivery_id: DeliveryId) -> bool:
    """Let a quarantined delivery be tried again from its first attempt; False when it is not quarantined."""
    mine = {"delivery_id": delivery_id, "state": "quarantined"}
    return bool(change(db, inbox, mine, state="waiting", attempts=0, due_at=inbox.c.received_at))


def _mine(claimed: Delivery) -> ColumnElement[bool]:
    key = {"delivery_id": claimed.delivery_id, "state": "claimed", "attempts": claimed.attempt}
    return where(inbox, key)


def counts(db: Connection) -> dict[str, int]:
    """Return how many deliveries are waiting, claimed, done and quarantined."""
    by_state = dict.fromkeys(("waiting", "claimed", "done", "quarantined"), 0)
    for state, count in db.execute(select(inbox.c.state, func.count()).group_by(inbox.c.state)):
        by_state[state] = count
    return by_state
