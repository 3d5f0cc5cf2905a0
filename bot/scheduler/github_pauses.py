"""Boards whose installation may not call GitHub now: their calls wait, on every host."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from bot.bootstrap import Services
from bot.state import served_boards
from ledger.ids import BoardId
from ledger.log import event_store

log = logging.getLogger(__name__)

REREAD_S = 1.0  # between two reads of the figures that all hosts share
LONG = timedelta(minutes=1)  # the start of a run waits for less with its claim in hand


@dataclass(slots=True)
class _Pauses:
    """The last reading of this process: each board's owner, until when owners wait, and the reported ones."""

    at: float = float("-inf")
    owners: Mapping[BoardId, str] = field(default_factory=dict)
    until: Mapping[str, datetime] = field(default_factory=dict)
    reported: frozenset[str] = frozenset()


_seen: WeakKeyDictionary[Engine, _Pauses] = WeakKeyDictionary()


def pauses(services: Services, longer_than: timedelta = timedelta()) -> dict[BoardId, datetime]:
    """Return until when GitHub takes no call for a board, for each that waits longer than that."""
    seen, end = _read_pauses(services), services.now() + longer_than
    until = {board_id: seen.until.get(owner) for board_id, owner in seen.owners.items()}
    return {board_id: at for board_id, at in until.items() if at is not None and at > end}


def report_pauses(services: Services) -> None:
    """Log once that the limit of an owner's installation is spent, and once that this is over."""
    seen, now = _read_pauses(services), services.now()
    waiting = {owner for owner, until in seen.until.items() if until > now}
    spent = {owner for owner in waiting if seen.until[owner] > now + LONG}
    for owner in sorted(spent - seen.reported):
        until = f"{seen.until[owner]:%H:%M:%S}"
        log.warning("GitHub's limit is spent owner=%s until=%s step=none_it_goes_on_by_itself", owner, until)
    for owner in sorted(seen.reported - waiting):
        log.warning("GitHub takes calls again owner=%s", owner)
    seen.reported = seen.reported & waiting | spent


def _read_pauses(services: Services) -> _Pauses:
    seen, at = _seen.setdefault(services.engine, _Pauses()), time.monotonic()
    if at - seen.at >= REREAD_S:
        with event_store.reading(services.engine) as db:
            boards = served_boards.all_served(db, services.config)
        seen.owners = {board.board_id: board.owner.casefold() for board in boards if board.board_id}
        ends = {
            owner: services.context.app.at(owner).budget.barred_until_s()
            for owner in set(seen.owners.values())
        }
        seen.until = {owner: datetime.fromtimestamp(end_s, UTC) for owner, end_s in ends.items() if end_s}
        seen.at = at
    return seen
