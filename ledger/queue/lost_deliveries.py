"""The search for deliveries that this ledger lost: those that came after the back-up that it is, say.

Its beginning is a cursor, at a Unix time; at 0 nothing is searched.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select

from ledger.db.rows import change, keep, value
from ledger.db.tables import cursors, inbox

READER = "lost deliveries"
OVERLAP = timedelta(minutes=10)  # far more than between the starts of programs, or two clocks


def begin_search(db: Connection, now: datetime) -> None:
    """Have GitHub searched from before the newest delivery on; tickers call it when they start.

    A web server may receive already, so deliveries of the last minutes say nothing about those before.
    """
    before = select(func.max(inbox.c.received_at)).where(inbox.c.received_at < now - OVERLAP)
    newest = db.scalar(before) or db.scalar(select(func.min(inbox.c.received_at)))
    if newest is not None:
        from_s, begun_s = int((newest - OVERLAP).timestamp()), _since_s(db)
        keep(db, cursors, {"reader": READER}, {"position": min(from_s, begun_s or from_s)})


def search_start(db: Connection) -> datetime | None:
    """Return from when on GitHub is to be searched; None for not at all."""
    since_s = _since_s(db)
    return datetime.fromtimestamp(since_s, UTC) if since_s else None


def end_search(db: Connection, since: datetime) -> None:
    """Remember that all since then were requested, unless a search from earlier on has begun."""
    change(db, cursors, {"reader": READER, "position": int(since.timestamp())}, position=0)


def _since_s(db: Connection) -> int:
    return value(db, cursors.c.position, reader=READER) or 0
