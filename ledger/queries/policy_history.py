"""Policies that were in force on a board, from its stream of events."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, select

from ledger.codec import decode
from ledger.db.statements import statement
from ledger.db.tables import events
from ledger.events.policy import PolicyLoaded
from ledger.ids import BoardId


@dataclass(frozen=True, slots=True)
class PastPolicy:
    """A policy file's text, empty for the built-in board, and when it came into force."""

    text: str
    at: datetime


@statement
def _loaded(stream: Any, kind: Any, most: Any) -> Select[Any]:
    mine = (events.c.stream == stream) & (events.c.kind == kind)
    return select(events.c.at, events.c.body).where(mine).order_by(events.c.version.desc()).limit(most)


def newest(db: Connection, board_id: BoardId, limit: int) -> tuple[PastPolicy, ...]:
    """Return the board's newest policies, the one in force first."""
    kind = PolicyLoaded.__name__
    rows = _loaded.all(db, {"stream": f"board:{board_id}", "kind": kind, "most": limit})
    loaded = ((at, decode(kind, body)) for at, body in rows)
    return tuple(PastPolicy(event.text, at) for at, event in loaded if isinstance(event, PolicyLoaded))
