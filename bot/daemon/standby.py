"""Standby: a worker waits for its first wake-up before it does anything that would cost memory of its own."""

import os
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError
from rq.utils import utcformat
from rq.worker import BaseWorker
from rq.worker_registration import REDIS_WORKER_KEYS, get_keys

from bot.scheduler.queues import queue

LISTEN_S = 4  # of one wait in Redis: less than any answer may take
SEEN_S = 60  # after this long Redis forgets it
RETRY_S = 1.0  # while Redis is away
KEY = f"{BaseWorker.redis_worker_namespace_prefix}standby-"


def stand_by(
    redis: Redis, names: Sequence[str], *, patience_s: float = 0.0, slow: Sequence[str] = ()
) -> None:
    """Return once a wake-up waits in a queue of `names`, and still waits after `patience_s`; it stays there.

    Those of `slow` are looked at now and then: two looks in a row have to find one. Meanwhile Redis lists
    this process as a worker.
    """
    key = f"{KEY}{uuid4().hex[:12]}"
    record = {
        "hostname": socket.gethostname(),
        "pid": str(os.getpid()),
        "queues": ",".join((*names, *slow)),
        "birth": utcformat(datetime.now(UTC)),
    }
    quick, late = ([queue(redis, name).key for name in kind] for kind in (names, slow))
    looks = 0  # in a row that found a wake-up in `late`
    due = 0.0  # when Redis has to be told again
    while True:
        try:
            if time.monotonic() >= due:
                _show(redis, key, record)
                due = time.monotonic() + SEEN_S / 3
            looks = looks + 1 if late and redis.exists(*late) else 0
            if looks > 1 or _rings(redis, quick, patience_s):
                _forget(redis, key)
                return
        except RedisError:  # it starts again, or somebody starts it; it may have forgotten this one
            due = 0.0
            time.sleep(RETRY_S)


def _show(redis: Redis, key: str, record: dict[Any, Any]) -> None:
    writes = redis.pipeline(transaction=False)
    writes.hset(key, mapping={**record, "last_heartbeat": utcformat(datetime.now(UTC))})
    writes.expire(key, SEEN_S)
    writes.sadd(REDIS_WORKER_KEYS, key)
    writes.execute()


def _forget(redis: Redis, key: str) -> None:
    """Take the process off the list, and those that were killed while they stood by: Redis keeps each name.

    One that lives lists itself again.
    """
    redis.delete(key)
    named = sorted(it for it in get_keys(connection=redis) if it.startswith(KEY))
    reads = redis.pipeline(transaction=False)
    for each in named:
        reads.exists(each)
    if gone := [each for each, there in zip(named, reads.execute(), strict=True) if not there]:
        redis.srem(REDIS_WORKER_KEYS, *gone)


def _rings(redis: Redis, keys: Sequence[str], patience_s: float) -> bool:
    """Wait for a wake-up. One that is lost between the two commands comes again once its mark is old."""
    taken = cast("tuple[bytes, bytes] | None", redis.blpop(list(keys), LISTEN_S))
    if taken is None:
        return False
    redis.lpush(*taken)
    time.sleep(patience_s)
    return not patience_s or bool(redis.exists(*keys))
