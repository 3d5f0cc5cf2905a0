"""The heartbeat: finds everything that is due in the ledger and wakes whoever does it.

Queues carry only wake-ups, so whatever a crash or a wiped Redis lost is found here again.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from bot.bootstrap import Services
from bot.scheduler import dispatch, full_disk, halt_probe, queues, stalled_work, wakeups
from bot.scheduler.lease_grace import LeaseGrace
from bot.scheduler.queues import QueueName
from bot.sync import checks
from bot.system import liveness
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.queue import inbox, refresh_requests

log = logging.getLogger(__name__)

MAX_AT_ONCE = 100
TIDY_EVERY = timedelta(minutes=1)
EAGER_S, PATIENT_S = 5, 10  # a doorbell is looked after at every tick at first, later in every tenth second
Step = Callable[[Services], None]
_doubts: WeakKeyDictionary[Engine, LeaseGrace] = WeakKeyDictionary()  # of each ledger's leases, between ticks


def run_forever(services: Services, stop: threading.Event) -> None:
    """Tick until `stop` is set; an error of one tick is logged and the next one goes on."""
    every = timedelta(seconds=services.config.sweep_s)
    swept = services.now() - every
    tidied = services.now() - TIDY_EVERY
    while not stop.is_set():
        try:
            if services.now() - swept >= every:
                queues.enqueue(
                    services.redis, QueueName.CONTROL, "bot.scheduler.jobs.sweep_board", job_id="sweep"
                )
                swept = services.now()
            if services.now() - tidied >= TIDY_EVERY:
                _tidy(services)
                full_disk.watch(services)
                tidied = services.now()
            tick(services)
        except (CardinalError, OperationalError) as error:  # the latter: somebody holds the ledger's lock
            log.warning("tick failed error=%s", error)
        stop.wait(services.config.tick_s)


def expire_dead_holders(services: Services) -> None:
    """Let the claims of dead processes run out."""
    liveness.expire_dead_holders(services.engine, services.now())


def reap(services: Services) -> None:
    """Take back the runs whose worker is gone."""
    doubts = _doubts.setdefault(services.engine, LeaseGrace(time.monotonic, services.config.lease_s / 2))
    if dispatch.reap(services.engine, now=services.now(), sure=doubts.sure):
        _tidy(services)  # a dead worker's containers live on


def _tidy(services: Services) -> None:
    queues.enqueue(services.redis, QueueName.CONTROL, "bot.scheduler.jobs.tidy", job_id="tidy")


def ingest(services: Services) -> None:
    """Wake who ingests the deliveries that wait."""
    for delivery_id in inbox.due(services.engine, now=services.now(), limit=MAX_AT_ONCE):
        queues.enqueue(
            services.redis,
            QueueName.CONTROL,
            "bot.scheduler.jobs.ingest",
            delivery_id,
            job_id=f"ingest-{delivery_id}",
        )


def sync_cards(services: Services) -> None:
    """Wake who answers the doorbells that rang; one that nobody could answer for long is tried less often."""
    with event_store.reading(services.engine) as db:
        waiting = refresh_requests.waiting(db, limit=MAX_AT_ONCE)
    for request in waiting:
        waited_s = (services.now() - request.rung_at).total_seconds()
        if waited_s > EAGER_S and int(waited_s) % PATIENT_S:
            continue  # GitHub is away: a look every half second would only spend the budget
        queues.enqueue(
            services.redis,
            QueueName.CONTROL,
            "bot.scheduler.jobs.sync_card",
            request.card_id,
            job_id=f"look-{request.card_id}",
        )


def probe(services: Services) -> None:
    """Let a run try on a board that waits since several failed for one cause."""
    halt_probe.probe(services.engine, services.now())


def late_checks(services: Services) -> None:
    """Wake who looks at checks that nobody told of, or that take too long; not at every tick."""
    if int(time.monotonic()) % PATIENT_S:
        return
    for card_id in checks.overdue(services, services.now()):
        queues.enqueue(
            services.redis,
            QueueName.CONTROL,
            "bot.scheduler.jobs.late_checks",
            card_id,
            job_id=f"ci-{card_id}",
        )


STEPS: tuple[Step, ...] = (
    expire_dead_holders,
    reap,
    ingest,
    sync_cards,
    probe,
    late_checks,
    wakeups.settle,
    stalled_work.watch,
)


def tick(services: Services, steps: Sequence[Step] = STEPS) -> None:
    """Wake everything that is due once.

    A step that fails keeps no other from its turn: the errors are logged, and the first one is raised then.
    """
    failed: list[Exception] = []
    for step in steps:
        try:
            step(services)
        except Exception as error:  # raised below, after the other steps
            log.warning("tick step failed step=%s error=%s", step.__name__, error)
            failed.append(error)
    if failed:
        raise failed[0]
