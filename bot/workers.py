"""Workers: what takes wake-ups from a queue and does them."""

import importlib
import logging
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError
from rq import SimpleWorker, Worker
from rq.job import Job
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.worker import BaseWorker

from bot.queues import QueueName, queue
from ledger.errors import CardinalError
from runner import workspaces
from runner.death import with_parent

log = logging.getLogger(__name__)

WARM = ("bot.jobs",)  # what jobs import: once, before anything forks
NOTICED_S = (
    60  # after this long Redis forgets a worker that shows no sign of life; half-open connections end, too
)

Ready = Callable[[], None]


class _Prompt(BaseWorker):
    """What both kinds change in RQ's worker: they say when they listen, clear marks, come back quickly."""

    modules: tuple[str, ...] = ()
    max_connection_wait_time = 1.0  # RQ would wait up to a minute for a Redis that is back in a second
    listening: Ready | None = None

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Tell who waits for it that jobs are taken from now on, then wait for one."""
        if self.listening is not None:
            self.listening()
            self.listening = None
        return super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)

    def subscribe(self) -> None:
        """Take no orders through Redis: runs are stopped by events, and its thread must not be forked."""

    def tell_failure(self, job: Job, *exc_info: Any) -> None:
        """Log a failed job once, with a traceback only where Cardinal did not raise the error on purpose."""
        error = exc_info[1]
        trace = None if isinstance(error, CardinalError) else exc_info
        log.error("job failed queue=%s job=%s error=%s", job.origin, job.description, error, exc_info=trace)

    handle_exception = tell_failure  # RQ's name for it

    def is_ours(self, job: Job) -> bool:
        """Tell whether the job calls what Cardinal has for the queues; drop it if not.

        Who can write to Redis could otherwise have any function called that can be imported.
        """
        if str(job.func_name).rpartition(".")[0] in self.modules:
            return True
        log.error("job refused queue=%s function=%s", job.origin, job.func_name)
        job.delete()
        return False

    def unmark(self, job: Job) -> None:
        """Let the next wake-up of the same id through: this one begins."""
        mark = job.meta.get("mark")
        if mark:
            self.connection.delete(mark)


class LaneWorker(_Prompt, SimpleWorker):
    """Does short jobs in its own process, one after the other."""

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Do the job."""
        self.unmark(job)
        if self.is_ours(job):
            super().execute_job(job, queue)


class RunWorker(_Prompt, Worker):
    """Does every job in a process of its own, which dies with this one."""

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Fork a child, which does the job.

        The mark names the claim that the child will make, so it stays until the child is gone: a second child
        could only find the run claimed.
        """
        self._follow = with_parent()
        if self.is_ours(job):
            super().execute_job(job, queue)
        self.unmark(job)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Do the job as the child."""
        self._follow()
        super().main_work_horse(job, queue)

    def setup_work_horse_signals(self) -> None:
        """Let SIGTERM raise in the child, so that what it opened is closed; RQ's child would just die."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]  # rq 3.0
        signal.signal(signal.SIGTERM, _leave)

    def stop_run(self) -> None:
        """Stop the run as well: it may need half an hour, and another worker takes it up again."""
        if self.horse_pid:
            self.kill_horse(signal.SIGTERM)

    handle_warm_shutdown_request = stop_run  # RQ's name for it


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def warm_up() -> None:
    """Import everything that jobs need, so that children share it and start at once."""
    for name in WARM:
        importlib.import_module(name)
    for name in workspaces.names():
        workspaces.load(name)


def work(
    redis: Redis, name: QueueName, ready: Ready | None = None, *, modules: tuple[str, ...] = WARM
) -> None:
    """Take jobs of one queue until SIGTERM or SIGINT; `redis` must not be used by anybody else.

    Only functions of `modules` are called.
    Raises SystemExit(1) when Redis went away at a bad moment; while it waits for a job it survives that.
    """
    kind = RunWorker if name is QueueName.RUNS else LaneWorker
    worker = kind(
        [queue(redis, name)],
        name=f"{name}-{uuid4().hex[:12]}",
        connection=redis,
        serializer=JSONSerializer,
        worker_ttl=NOTICED_S,
        log_job_description=False,
    )
    worker.listening, worker.modules = ready, modules
    try:
        worker.work(logging_level="WARNING")
    except RedisError as error:  # while it signed off: whoever keeps it alive starts another
        log.warning("worker ended queue=%s reason=%s", name, type(error).__name__)
        raise SystemExit(1) from error
