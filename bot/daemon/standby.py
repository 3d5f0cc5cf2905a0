"""Standby: one process waits for the wake-ups of all workers that rest, so that these need no memory."""

import mmap
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Post:
    """A worker and the queues that wake it: those of `slow` when two looks in a row find a wake-up there.

    A wake-up of the others has to wait for `patience_s` still.
    """

    name: str
    eager: tuple[str, ...]
    slow: tuple[str, ...] = ()
    patience_s: float = 0.0


class Roster:
    """Which workers of a group rest: all its processes know. `requests` gives the names of those needed."""

    def __init__(self, posts: Sequence[Post]) -> None:
        self.posts = posts
        self.requests, self._writing = os.pipe()
        self._works = mmap.mmap(-1, max(1, len(posts)))  # shared by all forks
        self._bell = f"cardinal:rests:{uuid4().hex[:12]}"

    def works(self, name: str) -> None:
        """Note that the worker needs nobody to wait for it."""
        self._works[self._place(name)] = 1

    def rests(self, redis: Redis, name: str) -> None:
        """Note that the worker takes no more, and have its queues listened to at once."""
        self._works[self._place(name)] = 0
        with suppress(RedisError):  # else from the next look on
            redis.rpush(self._bell, name)
            redis.expire(self._bell, SEEN_S)

    def _place(self, name: str) -> int:
        return [post.name for post in self.posts].index(name)

    def stand_by(self, redis: Redis, alive: Callable[[], None] = lambda: None) -> None:
        """Ask for the workers that rest and have a wake-up, without an end; each wake-up stays in its queue.

        `alive` is called at every look. Redis lists this process as a worker.
        """
        key = f"{KEY}{uuid4().hex[:12]}"
        record = {
            "hostname": socket.gethostname(),
            "pid": str(os.getpid()),
            "queues": ",".join(
                dict.fromkeys(name for post in self.posts for name in (*post.eager, *post.slow))
            ),
            "birth": utcformat(datetime.now(UTC)),
        }
        late: set[str] = set()  # that the last look found to be slow
        due = 0.0  # when Redis has to be told again
        while True:
            alive()
            try:
                if time.monotonic() >= due:
                    _show(redis, key, record)
                    _forget_dead(redis)
                    due = time.monotonic() + SEEN_S / 3
                resting = [post for number, post in enumerate(self.posts) if not self._works[number]]
                late = self._request_slow(redis, resting, late)
                self._listen(redis, resting)
            except RedisError:  # it starts again, or somebody starts it; it may have forgotten this one
                due = 0.0
                time.sleep(RETRY_S)

    def _request_slow(self, redis: Redis, resting: Sequence[Post], late: set[str]) -> set[str]:
        """Ask for workers that this look and the last one found needed; return those of this look alone."""
        needed = {post.name for post in resting if post.slow and redis.exists(*_keys(redis, post.slow))}
        for name in needed & late:
            self._request_worker(name)
        return needed - late

    def _listen(self, redis: Redis, resting: Sequence[Post]) -> None:
        """Wait for a wake-up. One that is lost between the two commands comes again once its mark is old."""
        keys = {post.name: _keys(redis, post.eager) for post in resting}
        listened = dict.fromkeys(key for each in keys.values() for key in each)
        taken = cast("tuple[bytes, bytes] | None", redis.blpop([*listened, self._bell], LISTEN_S))
        if taken is None or taken[0].decode() == self._bell:
            return
        redis.lpush(*taken)
        post = next(it for it in resting if taken[0].decode() in keys[it.name])
        time.sleep(post.patience_s)
        if not post.patience_s or redis.exists(*keys[post.name]):
            self._request_worker(post.name)

    def _request_worker(self, name: str) -> None:
        os.write(self._writing, f"{name}\n".encode())
        self.works(name)  # afterwards: who dies between the two asks again


def _keys(redis: Redis, names: Sequence[str]) -> list[str]:
    return [queue(redis, name).key for name in names]


def _show(redis: Redis, key: str, record: dict[Any, Any]) -> None:
    writes = redis.pipeline(transaction=False)
    writes.hset(key, mapping={**record, "last_heartbeat": utcformat(datetime.now(UTC))})
    writes.expire(key, SEEN_S)
    writes.sadd(REDIS_WORKER_KEYS, key)
    writes.execute()


def _forget_dead(redis: Redis) -> None:
    """Take those off the list that were killed while they stood by: Redis keeps each name.

    One that lives lists itself again.
    """
    named = sorted(key for key in get_keys(connection=redis) if key.startswith(KEY))
    reads = redis.pipeline(transaction=False)
    for each in named:
        reads.exists(each)
    if gone := [each for each, there in zip(named, reads.execute(), strict=True) if not there]:
        redis.srem(REDIS_WORKER_KEYS, *gone)
