"""One entry of the outbox claimed, as a publisher with nothing else to do would."""

from typing import Any

from sqlalchemy import Engine

from ledger.queue import outbox
from ledger.queue.outbox import Entry


def claim_next(engine: Engine, lane: str, **how: Any) -> Entry | None:
    """Return the lane's next entry; None when none may go now."""
    return next(iter(outbox.claim(engine, lane, most=1, **how)), None)
