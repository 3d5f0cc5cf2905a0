"""Wakes whoever has to act on what the ledger holds. A lost wake-up costs one tick, never the work."""

from typing import TYPE_CHECKING

from bot.reactor import reactor
from bot.scheduler import dispatch, queues
from bot.scheduler.queues import QueueName
from ledger.log import event_store
from ledger.queue import outbox

if TYPE_CHECKING:
    from bot.bootstrap import Services

MAX_TURNS = 20  # then the next tick goes on
LANES = (
    ("github", QueueName.PUBLISH),
    ("assist", QueueName.ASSIST),
)  # a lane of the outbox and the queue that carries it out


def settle(services: "Services") -> None:
    """Let the rules see what was appended, then wake whoever has to act on it."""
    for _ in range(MAX_TURNS):
        with event_store.reading(services.engine) as db:
            if not reactor.behind(db):
                break
        with event_store.writing(
            services.engine
        ) as db:  # a part of a backlog each time, so that others get their turn
            reactor.advance(db, now=services.now())
    wake(services)


def wake(services: "Services") -> None:
    """Wake the publishers for what is due, and workers for the runs that may start."""
    now = services.now()
    for lane, queue in LANES:
        due = outbox.next_due(services.engine, lane)
        if due is not None and due <= now:
            queues.enqueue(
                services.redis, queue, "bot.scheduler.jobs.publish", lane, job_id=f"publish-{lane}"
            )
    for run in dispatch.ready(services.engine, now=now, slots=services.config.run_workers):
        job_id = f"run-{run.run_id}-{run.generation}"
        queues.enqueue(
            services.redis, QueueName.RUNS, "bot.scheduler.jobs.execute", run.run_id, job_id=job_id
        )
