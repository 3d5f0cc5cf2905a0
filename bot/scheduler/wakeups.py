"""Wake-ups for whoever has to act on the ledger. A lost one costs one tick, never the work."""

from datetime import datetime

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.scheduler import dispatch, github_pauses, queues
from bot.scheduler.queues import JOBS, QueueName
from ledger.log import event_store
from ledger.queue import outbox

MAX_TURNS = 20  # then the next tick goes on
# Of the outbox, and their queues.
LANES = (("github", QueueName.PUBLISH), ("assist", QueueName.ASSIST), ("notice", QueueName.ASSIST))


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
        paused=github_pauses.pauses(services, github_pauses.LONG),
    )
