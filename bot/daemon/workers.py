"""Workers: they take wake-ups from a queue and do them."""

import importlib
import logging
import math
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from types import FrameType, MappingProxyType
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError
from rq import SimpleWorker, Worker
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.timeouts import JobTimeoutException
from rq.utils import now
from rq.worker import BaseWorker, WorkerStatus
from sqlalchemy import Engine

from bot.admin import examination
from bot.admin.doctor import THEMES
from bot.ingest.events import EVENTS
from bot.outbox.handlers import ACTS
from bot.scheduler.queues import (
    CONTROL,
    CROWD,
    ECHOES,
    JOBS,
    TIME_LIMIT_S,
    QueuedCall,
    QueueName,
    WakeUp,
    host_queue,
    kind_of,
    mark_key,
    queue,
    take_more,
    tidy_queue,
)
from bot.system.current_work import CurrentWork, keep_in
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.queue import hangs
from rules.registry import ACTIONS, ARCHETYPES, COMMANDS, HANDLERS, PROFILES
from runner import workspaces
from runner.agents import AGENTS
from runner.errors import KilledError
from runner.exec.launch import with_parent
from runner.guards.builtin import GUARDS
from runner.workspaces.bubblewrap import sandbox_problem

log = logging.getLogger(__name__)

# What each queue may call, by the names of the functions there.
CALLED: Mapping[QueueName, tuple[str, ...]] = {
    QueueName.CONTROL: (
        "ingest",
        "sync_card",
        "rank_columns",
        "late_checks",
        "sweep_board",
        "recover_deliveries",
        "export_traces",
        "tidy",
        "examine",
    ),
    QueueName.PUBLISH: ("publish",),
    QueueName.ASSIST: ("publish",),
    QueueName.RUNS: ("execute",),
}
# Each minute wakes these, whatever happens: after them alone a worker does not wait for more.
ROUTINE = frozenset(
    f"{JOBS}.{name}" for name in ("sweep_board", "recover_deliveries", "export_traces", "tidy", "examine")
)
ROUTINE_IDLE_S = 1
ABOVE = {"examine": examination}  # the scheduler wakes it, and knows nothing of the operator's tools
INGEST = f"{JOBS}.ingest"
TOGETHER = (INGEST, f"{JOBS}.sync_card")  # they take any number of ids
REST_S = 0.02  # between two groups of deliveries: a burst is worked off together, and others write meanwhile
NOTICED_S = (
    60  # after this long Redis forgets a worker that shows no sign of life; half-open connections end, too
)

BEAT_S = 10
# No job is silent longer, nor a wait for one; of runs each has its own watchdog.
SILENT_S = {name: limit_s + 2 * NOTICED_S for name, limit_s in TIME_LIMIT_S.items() if limit_s > 0}
RUN_NICE = 3  # of runs, beyond their worker: a drag must not wait for the work of other cards

STOPS = (signal.SIGTERM, signal.SIGINT)
Ready = Callable[[], None]
Calls = Mapping[str, Callable[..., object]]


class _Prompt(BaseWorker):
    """Changes of both kinds to RQ's worker: it brings wake-ups, and obeys no order in Redis.

    Of a job only its call counts, and only a function of `calls`. It is taken out of Redis before it begins:
    the next tick finds a wake-up that is lost then.
    """

    calls: Calls = MappingProxyType({})
    max_connection_wait_time = 1.0  # RQ would wait up to a minute for a Redis that is back in a second
    listening: Ready | None = None
    only_routine = True  # so far
    beaten = -math.inf  # when it showed a sign of life
    alive: Ready | None = None  # tells its group of one

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Report that the worker listens, then wait for a job: less long when all that it did was routine."""
        if self.listening is not None:
            self.listening()
            self.listening = None
        if max_idle_time is not None and self.only_routine:
            max_idle_time = min(max_idle_time, ROUTINE_IDLE_S)
        while True:
            try:
                return super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)
            except ValueError:  # what stands in the queue is no id
                log.error("job refused queue=%s reason=id", self.queues[0].name)

    def subscribe(self) -> None:
        """Take no orders through Redis: runs are stopped by events, and its thread must not be forked."""

    def check_for_suspension(self, burst: bool) -> None:
        """Never rest because a key in Redis says so."""

    def run_maintenance_tasks(self) -> None:
        """Forget the jobs of killed workers; RQ would read every job that is left in Redis."""
        self.connection.delete(*(queue.intermediate_queue_key for queue in self.queues))
        self.last_cleaned_at = now()  # type: ignore[assignment]  # rq 3.0

    def heartbeat(self, timeout: int | None = None, pipeline: object = None) -> None:  # noqa: ARG002 -- RQ's
        """Show a sign of life, once in BEAT_S: RQ would give Redis six commands for each job."""
        if time.monotonic() - self.beaten >= BEAT_S:
            if self.alive is not None:
                self.alive()
            super().heartbeat(timeout)
            self.beaten = time.monotonic()

    def set_state(self, state: str, pipeline: object = None) -> None:  # noqa: ARG002 -- RQ's
        """Keep the state in this process: nobody else needs it."""
        self._state = state

    def take(self, job: Job, queue: Queue, *marks: str) -> Callable[[], object] | None:
        """Take the job out of Redis, with its marks, and return its call; None, and a line in the log, for a
        foreign one.
        """
        writes = self.connection.pipeline(transaction=False)
        writes.delete(job.key, *marks)
        writes.lrem(queue.intermediate_queue_key, 1, job.id)
        writes.execute()
        call = _call_of(job)
        function = self.calls.get(call.function) if call is not None else None
        if call is None or function is None:
            log.error("job refused queue=%s function=%.200r", queue.name, call and call.function)
            return None
        self.only_routine = self.only_routine and call.function in ROUTINE
        return partial(function, *call.arguments)

    def carry_out(self, queue: Queue, job: Job, do: Callable[[], object]) -> None:
        """Call it within the queue's time limit.

        A failure is logged once, with a traceback only where Cardinal did not raise the error on purpose.
        """
        limit_s = TIME_LIMIT_S[kind_of(queue.name)]
        try:
            with self.death_penalty_class(limit_s, JobTimeoutException) if limit_s > 0 else nullcontext():
                do()
        except Exception as error:  # the top of a job
            trace = None if isinstance(error, CardinalError) else error
            call = _call_of(job)
            log.error(
                "job failed queue=%s job=%s error=%s", queue.name, call and call.job_id, error, exc_info=trace
            )


class LaneWorker(_Prompt, SimpleWorker):
    """Does short jobs in its own process, one after the other; those that wait together by one call."""

    rests_until = -math.inf

    def reorder_queues(self, reference_queue: Queue) -> None:
        """Serve the crowd next after all others, and them after it: neither waits for two groups."""
        crowd_first = reference_queue.name == CONTROL
        self._ordered_queues = sorted(self.queues, key=lambda queue: crowd_first and queue.name != CROWD)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Do the job."""
        call = _call_of(job)
        do = self.take(job, queue, *_marks(call))
        if do is not None and call is not None:
            self.set_state(WorkerStatus.BUSY)  # a stop waits from here on: nobody else has the job
            if call.function == INGEST:
                time.sleep(max(self.rests_until - time.monotonic(), 0))
            if call.function in TOGETHER:
                do = partial(do, *take_more(self.connection, queue.name, call.function))
            self.carry_out(queue, job, do)
            self.set_state(WorkerStatus.IDLE)
            if call.function == INGEST:
                self.rests_until = time.monotonic() + REST_S


class RunWorker(_Prompt, Worker):
    """Does every job in a process of its own, which dies with this one."""

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Fork a child, which does the job, and wait for it.

        The mark names the claim that the child will make, so it stays until the child is gone: a second child
        could only find the run claimed.
        """
        do = self.take(job, queue)
        if do is not None:
            self._follow, self._do = with_parent(), do
            self.set_state(WorkerStatus.BUSY)
            # A stop that comes between the fork and the child's own handlers would be lost on both sides.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
            self.fork_work_horse(job, queue)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _, status, _ = self.wait_for_horse()
            self._horse_pid = 0
            self.set_state(WorkerStatus.IDLE)
            if status:
                log.warning("run's process ended status=%s", os.waitstatus_to_exitcode(status))
        for mark in _marks(_call_of(job)):
            self.connection.delete(mark)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Do the job as the child."""
        self._follow()
        os.nice(RUN_NICE)
        self._is_horse = True
        random.seed()
        self.setup_work_horse_signals()
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
            self.carry_out(queue, job, self._do)
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            os._exit(status)

    def setup_work_horse_signals(self) -> None:
        """Let SIGTERM raise in the child, so that it closes its files; RQ's child would just die."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]  # rq 3.0
        signal.signal(signal.SIGTERM, _on_signal)

    def stop_run(self) -> None:
        """Stop the run as well: it may need half an hour, and another worker takes it up again."""
        if self.horse_pid:
            self.kill_horse(signal.SIGTERM)

    handle_warm_shutdown_request = stop_run  # RQ's name for it


def _call_of(job: Job) -> QueuedCall | None:
    return job.call if isinstance(job, WakeUp) else None


def _marks(call: QueuedCall | None) -> tuple[str, ...]:
    """Return the marks that keep the next wake-up of the same id out."""
    return () if call is None else (mark_key(call.job_id),)


def _on_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def take_over(current: CurrentWork, engine: Callable[[], Engine]) -> None:
    """Keep the names of this process's work there; record the work that hung the worker before it."""
    if hung := current.hung:
        with event_store.writing(engine()) as db:
            counted = hangs.count_hang(db, hung)
        for hang in counted:
            log.error(
                "work hung its worker name=%s times=%s set_aside=%s", hang.name, hang.times, hang.set_aside
            )
    current.replace(())
    keep_in(current)


def warm_up() -> None:
    """Import and try everything that jobs need, so that children share it and start at once."""
    importlib.import_module(JOBS)
    for registry in (EVENTS, ACTS, THEMES, COMMANDS, ARCHETYPES, ACTIONS, HANDLERS, PROFILES, AGENTS, GUARDS):
        dict(registry.all())
    for name in workspaces.names():
        workspaces.load(name)
    with suppress(KilledError):  # a run tries again, and says what is wrong
        sandbox_problem()


def calls_of(name: QueueName) -> Calls:
    """Return the functions that the queue may call, by dotted name."""
    jobs = importlib.import_module(JOBS)
    return {f"{JOBS}.{function}": getattr(ABOVE.get(function, jobs), function) for function in CALLED[name]}


def queues_of(name: QueueName, host: str) -> tuple[str, ...]:
    """Return the queues that a worker of this kind takes from, the first one first."""
    if name is QueueName.CONTROL:
        return (name, CROWD, tidy_queue(host), ECHOES)
    return (host_queue(host), name) if name is QueueName.RUNS and host else (name,)


def work_queue(
    redis: Redis,
    name: QueueName,
    ready: Ready | None = None,
    *,
    calls: Calls | None = None,
    host: str = "",
    idle_s: int | None = None,
) -> None:
    """Take jobs of one queue until SIGTERM or SIGINT, or until none came for `idle_s`.

    `redis` must not be used by anybody else.

    Runs that only `host` may take come first: they wait for nobody else. So do deliveries of people's acts;
    the clean-up of `host` comes before echoes. Only functions of `calls` are called: those of `calls_of`,
    unless others are given. Raises SystemExit(1) when Redis went away at a bad moment; while it waits for a
    job it survives that.
    """
    kind = RunWorker if name is QueueName.RUNS else LaneWorker
    worker = kind(
        [queue(redis, queue_name) for queue_name in queues_of(name, host)],
        name=f"{name}-{uuid4().hex[:12]}",
        connection=redis,
        job_class=WakeUp,
        serializer=JSONSerializer,
        worker_ttl=NOTICED_S,
        log_job_description=False,
    )
    worker.listening, worker.calls = ready, calls_of(name) if calls is None else calls
    worker.alive = ready if name in SILENT_S else None
    try:
        worker.work(logging_level="WARNING", max_idle_time=idle_s)
    except RedisError as error:  # while it signed off: whoever keeps it alive starts another
        log.warning("worker ended queue=%s reason=%s", name, type(error).__name__)
        raise SystemExit(1) from error
