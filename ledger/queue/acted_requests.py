"""Requests that acted: one that comes again gets the event of the first, and acts no more."""

import hashlib
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from ledger.db.tables import acted_requests
from ledger.errors import CardinalError


class ReusedKeyError(CardinalError):
    """A key came again, with another request."""

    def __init__(self) -> None:
        super().__init__(
            "this idempotency key was used for another request: send a new key with a new request"
        )


def find(db: Connection, key: str, request: str, now: datetime) -> int | None:
    """Return the number of the event that the first request with the key made; None for the first one.

    Raises ReusedKeyError if that request had another text.
    """
    table = acted_requests.c
    live = (table.key_digest == _digest(key)) & (table.until > now)
    row = db.execute(select(table.request_digest, table.seq).where(live)).first()
    if row is not None and row.request_digest != _digest(request):
        raise ReusedKeyError
    return None if row is None else row.seq


def keep(db: Connection, key: str, request: str, seq: int, *, now: datetime, ttl: timedelta) -> None:
    """Remember the event of a key's first request; forget those that are over."""
    db.execute(acted_requests.delete().where(acted_requests.c.until <= now))
    values = {"key_digest": _digest(key), "request_digest": _digest(request), "seq": seq, "until": now + ttl}
    db.execute(acted_requests.insert().values(values))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
