"""Wake-ups for whoever has to act on the ledger. A lost one costs one tick, never the work."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.scheduler import dispatch, queues
from bot.scheduler.queues import JOBS, QueueName
from bot.state import served_boards
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queue import outbox

log = logging.getLogger(__name__)

REREAD_S = 1.0  # between two reads of the figures that all hosts share
LONG = timedelta(minutes=1)  # the start of a run waits for less with its claim in hand
MAX_TURNS = 20  # then the next tick goes on
# Of the outbox, and their queues.
LANES = (("github", QueueName.PUBLISH), ("assist", QueueName.ASSIST), ("notice", QueueName.ASSIST))


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


def react_and_wake(services: Services) -> None:
    """Let the rules see new events, then wake whoever has to act on them."""
    for _ in range(MAX_TURNS):
        with event_store.reading(services.engine) as db:
            if not reactor.behind(db):
                break
        # A part of a backlog each time: others get their turn.
        with event_store.writing(services.engine) as db:
            reactor.advance(db, now=services.now())
    wake(services)


def wake(services: Services) -> None:
    """Wake the publishers for due entries, and workers for the runs that may start."""
    now = services.now()
    for lane, name in LANES:
        due_s = outbox.next_due_s(services.engine, lane)
        if due_s is not None and due_s <= 0:
            queues.request(services.redis, "publish", lane, name=name)
    for run in ready(services, now):
        job_id = f"run-{run.run_id}-{run.generation}"
        takers = queues.host_queue(run.host) if run.host else QueueName.RUNS
        queues.enqueue(services.redis, takers, f"{JOBS}.execute", run.run_id, job_id=job_id)


def ready(services: Services, now: datetime) -> tuple[dispatch.ReadyRun, ...]:
    """Return the runs that may start now, as these services see it."""
    return dispatch.ready_runs(
        services.engine,
        now=now,
        slots=services.config.run_workers,
        host=services.host,
        paused=pauses(services, LONG),
    )
