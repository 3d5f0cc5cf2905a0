"""Queues: wake-ups by id, carried by RQ. The next tick finds again whatever gets lost here."""

import json
import logging
import re
import zlib
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import cast
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError, ResponseError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer

log = logging.getLogger(__name__)

JOBS = "bot.scheduler.jobs"
# A wake-up that no longer waits in its queue, since its worker was killed before it began, stops being in the
# way of the next one after this long. One that waits is in the way for as long as its mark lives.
LOST_AFTER_S = 10
MARK_S = 3600
MAX_TOGETHER = 20  # wake-ups that one call serves
CROWD_TOGETHER = 5  # those of a crowd: others wait for them
MAX_BYTES = 10_000  # of what a wake-up says
LABEL = re.compile(r"[A-Za-z0-9_.=-]{1,200}")


class QueueName(StrEnum):
    """Queues, each with workers of its own: no kind of work waits for another."""

    CONTROL = "control"  # ingest deliveries, look at cards, sweep
    PUBLISH = "publish"  # carry out what the outbox holds
    ASSIST = "assist"  # the planning assistant and ai_task rules
    RUNS = "runs"  # runs, each in a process of its own


CONTROL = QueueName.CONTROL
# Deliveries of what apps did, Cardinal's own acts for the most: those of what people did go first.
ECHOES = f"{QueueName.CONTROL}:echoes"
# Deliveries about an issue that sends many: they are served in turn with all others.
CROWD = f"{QueueName.CONTROL}:crowd"

# Seconds that one job may take; -1 where somebody else watches: the run's own watchdogs and its lease.
TIME_LIMIT_S = {QueueName.CONTROL: 120, QueueName.PUBLISH: 120, QueueName.ASSIST: 900, QueueName.RUNS: -1}


@dataclass(frozen=True, slots=True)
class QueuedCall:
    """A job as read from Redis: a function's name, its arguments, the id of its mark; nothing else is."""

    function: str
    arguments: tuple[str, ...]
    job_id: str


class WakeUp(Job):
    """A job whose callbacks, webhooks, dependencies, repeats, retries, limits and results are never read.

    Otherwise whoever can write to Redis could have anything called that can be imported.
    """

    call: QueuedCall | None = None

    def refresh(self) -> None:
        """Read the call; None for a job of another shape."""
        try:
            raw, label = self.connection.hmget(self.key, "data", "description")
        except ResponseError as error:
            raise NoSuchJobError(self.id) from error
        if raw is None:
            raise NoSuchJobError(self.id)
        self.call = _call(cast(bytes, raw), cast(bytes, label or b""))

    def restore(self, raw_data: object) -> None:
        """Ignore the fields that RQ has read."""


def _call(raw: bytes, label: bytes) -> QueuedCall | None:
    try:
        plain = zlib.decompressobj().decompress(raw, MAX_BYTES)  # not more, however little it was
        function, instance, arguments, keywords = json.loads(plain)
        job_id = label.decode("ascii")
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
    texts = isinstance(arguments, list) and all(isinstance(text, str) for text in (function, *arguments))
    if not texts or instance is not None or keywords != {} or not LABEL.fullmatch(job_id):
        return None
    return QueuedCall(function, tuple(arguments), job_id)


def host_queue(host: str) -> str:
    """Return the name of the queue of the runs that only this host may take."""
    return f"{QueueName.RUNS}:{host}"


def tidy_queue(host: str) -> str:
    """Return the name of the queue of the clean-up on this host: nobody else sees the remains there."""
    return f"{QueueName.CONTROL}:tidy:{host}"


def kind_of(name: str) -> QueueName:
    """Return which kind of queue that is: all hosts' queues of runs are of one kind."""
    return QueueName(name.partition(":")[0])


def queue_key(name: str) -> str:
    return f"{Queue.redis_queue_namespace_prefix}{name}"


def queue(redis: Redis, name: str) -> Queue:
    """Return the RQ queue. Ids and arguments travel as JSON: unpickling would run foreign code."""
    kind_of(name)
    return Queue(str(name), connection=redis, serializer=JSONSerializer, job_class=WakeUp)


def enqueue(redis: Redis, name: str, function: str, *args: str, job_id: str) -> bool:
    """Ask a worker of queue `name` to call `function` (a dotted path); False when Redis did not take it.

    True, and nothing is added, while a wake-up of the same `job_id` waits for a worker. One that has begun
    does not count: it may have read the ledger before the news.
    """
    rq_id = str(uuid4())
    try:
        if not redis.set(mark_key(job_id), f"{name} {rq_id}", nx=True, ex=MARK_S):
            if _waits(redis, name, job_id):
                return True
            redis.set(mark_key(job_id), f"{name} {rq_id}", ex=MARK_S)
        queue(redis, name).enqueue_call(function, args=args, description=job_id, job_id=rq_id)
    except RedisError as error:
        log.warning("wake-up lost queue=%s job=%s error=%s", name, job_id, type(error).__name__)
        return False
    return True


def take_more(redis: Redis, name: str, function: str) -> tuple[str, ...]:
    """Take wake-ups of the same function that wait behind one another at the head of queue `name`, fewer than
    MAX_TOGETHER, or CROWD_TOGETHER; return their arguments.
    """
    key, most = queue_key(name), CROWD_TOGETHER if name == CROWD else MAX_TOGETHER
    ids = [rq_id.decode() for rq_id in cast("list[bytes] | None", redis.lpop(key, most - 1)) or ()]
    reads = redis.pipeline(transaction=False)
    for rq_id in ids:
        reads.hmget(WakeUp.key_for(rq_id), "data", "description")
    calls = [_call(raw, label or b"") if raw else None for raw, label in reads.execute()]
    same = list(takewhile(lambda call: call is not None and call.function == function, calls))
    writes = redis.pipeline(transaction=False)
    for rq_id, call in zip(ids, same, strict=False):
        writes.delete(WakeUp.key_for(rq_id), *((mark_key(call.job_id),) if call else ()))
    if others := ids[len(same) :]:
        writes.lpush(key, *reversed(others))
    writes.execute()
    return tuple(argument for call in same if call for argument in call.arguments)


def _waits(redis: Redis, name: str, job_id: str) -> bool:
    """Tell whether the marked wake-up waits for the workers of queue `name`, or was added a moment ago."""
    pipeline = redis.pipeline(transaction=False)
    pipeline.get(mark_key(job_id))
    pipeline.ttl(mark_key(job_id))
    mark, left_s = pipeline.execute()
    if mark is None:
        return False
    if left_s > MARK_S - LOST_AFTER_S:
        return True
    where, _, rq_id = mark.decode().partition(" ")
    lanes = (CONTROL, CROWD, ECHOES)
    takers = lanes if name in lanes else (name,)
    return where in takers and redis.lpos(queue_key(where), rq_id) is not None


def request(redis: Redis, job: str, *args: str, name: str = QueueName.CONTROL) -> bool:
    """Enqueue a function of JOBS, unless the same call waits already; False when Redis did not take it."""
    return enqueue(redis, name, f"{JOBS}.{job}", *args, job_id="-".join((job, *args)))


def mark_key(job_id: str) -> str:
    """Return the Redis key that exists while a wake-up of that id waits for a worker."""
    return f"cardinal:waiting:{job_id}"
