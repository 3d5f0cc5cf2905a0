"""The queues: wake-ups by id, carried by RQ. Whatever gets lost here is found again by the next tick."""

import logging
from enum import StrEnum

from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.serializers import JSONSerializer

log = logging.getLogger(__name__)

# A wake-up whose worker was killed before it began stops being in the way of the next one after this long.
LOST_AFTER_S = 10
KEPT_FAILED_S = 3600


class QueueName(StrEnum):
    """The queues that exist, each with workers of its own, so that none waits for another's kind of work."""

    CONTROL = "control"  # ingest deliveries, look at cards, sweep
    PUBLISH = "publish"  # carry out what the outbox holds
    ASSIST = "assist"  # the planning assistant and ai_task rules
    RUNS = "runs"  # runs, each in a process of its own


# Seconds that one job may take; -1 where somebody else watches: the run's own watchdogs and its lease.
TIME_LIMIT_S = {QueueName.CONTROL: 120, QueueName.PUBLISH: 120, QueueName.ASSIST: 900, QueueName.RUNS: -1}


def queue(redis: Redis, name: str) -> Queue:
    """Return the RQ queue; ids and arguments travel as JSON, for unpickling would run what it is given."""
    return Queue(QueueName(name), connection=redis, serializer=JSONSerializer)


def enqueue(redis: Redis, name: str, function: str, *args: str, job_id: str) -> bool:
    """Ask a worker of queue `name` to call `function` (a dotted path); False when Redis did not take it.

    Nothing is added, and the answer is True, while a wake-up of the same `job_id` waits for a worker. One
    that has begun is not in the way, for it may already have looked past what is new.
    """
    try:
        if not redis.set(mark_key(job_id), "1", nx=True, ex=LOST_AFTER_S):
            return True
        queue(redis, name).enqueue_call(
            function,
            args=args,
            timeout=TIME_LIMIT_S[QueueName(name)],
            result_ttl=0,
            failure_ttl=KEPT_FAILED_S,
            description=job_id,
            meta={"mark": mark_key(job_id)},
        )
    except RedisError as error:
        log.warning("wake-up lost queue=%s job=%s error=%s", name, job_id, type(error).__name__)
        return False
    return True


def mark_key(job_id: str) -> str:
    """Return the Redis key that exists while a wake-up of that id waits for a worker."""
    return f"cardinal:waiting:{job_id}"


def lengths(redis: Redis) -> dict[str, int]:
    """Return how many wake-ups wait in each queue. Raises RedisError."""
    return {str(name): len(queue(redis, name)) for name in QueueName}
