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

from bot.bootstrap import Shop
from bot.scheduler import dispatch, full_disk, halt_probe, queues, stalled_work, wakeups
from bot.scheduler.lease_grace import Doubts
from bot.scheduler.queues import QueueName
from bot.sync import checks
from bot.system import liveness
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.queue import inbox, refresh_requests

log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
TIDY_EVERY = timedelta(minutes=1)
EAGER_S, PATIENT_S = 5, 10  # a doorbell is looked after at every tick at first, later in every tenth second
Step = Callable[[Shop], None]
_doubts: WeakKeyDictionary[Engine, Doubts] = WeakKeyDictionary()  # of each ledger's leases, between ticks


def run_forever(shop: Shop, stop: threading.Event) -> None:
    """Tick until `stop` is set; an error of one tick is logged and the next one goes on."""
    every = timedelta(seconds=shop.config.sweep_s)
    swept = shop.now() - every
    tidied = shop.now() - TIDY_EVERY
    while not stop.is_set():
        try:
            if shop.now() - swept >= every:
                queues.enqueue(
                    shop.redis, QueueName.CONTROL, "bot.scheduler.jobs.sweep_board", job_id="sweep"
                )
                swept = shop.now()
            if shop.now() - tidied >= TIDY_EVERY:
                _tidy(shop)
                full_disk.watch(shop)
                tidied = shop.now()
            tick(shop)
        except (CardinalError, OperationalError) as error:  # the latter: somebody holds the ledger's lock
            log.warning("tick failed error=%s", error)
        stop.wait(shop.config.tick_s)


def mourn(shop: Shop) -> None:
    """Let the claims of dead processes run out."""
    liveness.mourn(shop.engine, shop.now())


def reap(shop: Shop) -> None:
    """Take back the runs whose worker is gone."""
    doubts = _doubts.setdefault(shop.engine, Doubts(time.monotonic, shop.config.lease_s / 2))
    if dispatch.reap(shop.engine, now=shop.now(), sure=doubts.sure):
        _tidy(shop)  # a dead worker's containers live on


def _tidy(shop: Shop) -> None:
    queues.enqueue(shop.redis, QueueName.CONTROL, "bot.scheduler.jobs.tidy", job_id="tidy")


def ingest(shop: Shop) -> None:
    """Wake who ingests the deliveries that wait."""
    for delivery_id in inbox.due(shop.engine, now=shop.now(), limit=MOST_AT_ONCE):
        queues.enqueue(
            shop.redis,
            QueueName.CONTROL,
            "bot.scheduler.jobs.ingest",
            delivery_id,
            job_id=f"ingest-{delivery_id}",
        )


def look(shop: Shop) -> None:
    """Wake who answers the doorbells that rang; one that nobody could answer for long is tried less often."""
    with event_store.reading(shop.engine) as db:
        bells = refresh_requests.waiting(db, limit=MOST_AT_ONCE)
    for bell in bells:
        waited_s = (shop.now() - bell.rung_at).total_seconds()
        if waited_s > EAGER_S and int(waited_s) % PATIENT_S:
            continue  # GitHub is away: a look every half second would only spend the budget
        queues.enqueue(
            shop.redis,
            QueueName.CONTROL,
            "bot.scheduler.jobs.look",
            bell.card_id,
            job_id=f"look-{bell.card_id}",
        )


def probe(shop: Shop) -> None:
    """Let a run try on a board that waits since several failed for one cause."""
    halt_probe.probe(shop.engine, shop.now())


def late_checks(shop: Shop) -> None:
    """Wake who looks at checks that nobody told of, or that take too long; not at every tick."""
    if int(time.monotonic()) % PATIENT_S:
        return
    for card_id in checks.overdue(shop, shop.now()):
        queues.enqueue(
            shop.redis, QueueName.CONTROL, "bot.scheduler.jobs.late_checks", card_id, job_id=f"ci-{card_id}"
        )


STEPS: tuple[Step, ...] = (mourn, reap, ingest, look, probe, late_checks, wakeups.settle, stalled_work.watch)


def tick(shop: Shop, steps: Sequence[Step] = STEPS) -> None:
    """Wake everything that is due once.

    A step that fails keeps no other from its turn: the errors are logged, and the first one is raised then.
    """
    failed: list[Exception] = []
    for step in steps:
        try:
            step(shop)
        except Exception as error:  # raised below, after the other steps
            log.warning("tick step failed step=%s error=%s", step.__name__, error)
            failed.append(error)
    if failed:
        raise failed[0]
