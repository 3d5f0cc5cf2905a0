"""Standby, on a real Redis: a worker is woken by what waits, takes nothing, and is seen."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from bot.daemon import standby, workers
from bot.scheduler import queues
from bot.scheduler.queues import QueueName
from bot.system import redis as embedded_redis
from bot.system.config import Config
from tests.bot.conftest import start_redis
from tests.waiting import until

LATE = "control:tidy:b"


@contextmanager
def waiting(
    config: Config, names: Sequence[str], *, patience_s: float = 0.0, slow: Sequence[str] = ()
) -> Iterator["Future[None]"]:
    """Stand by in a thread; whatever the test leaves is woken at the end."""
    with embedded_redis.connect(config) as redis, ThreadPoolExecutor(1) as pool:
        stands = pool.submit(standby.stand_by, redis, names, patience_s=patience_s, slow=slow)
        try:
            yield stands
        finally:  # the pool waits for its thread: there has to be something to wake it
            with embedded_redis.connect(config) as others:
                others.rpush(queues.queue(others, names[0]).key, "end", "end")
            stands.result(60)


def workers_listed(redis: Redis) -> list[tuple[str, str]]:
    return [(it.pid, it.queues) for it in embedded_redis.workers(redis)]


def test_a_wake_up_ends_it_and_still_waits(config: Config, redis: Redis) -> None:
    with waiting(config, ("runs:b", "runs")) as stands:
        until(lambda: workers_listed(redis) == [(str(os.getpid()), "runs:b,runs")], "it stands by")
        assert embedded_redis.has_workers(redis)
        assert queues.request(redis, "execute", "r1", name=QueueName.RUNS)
        stands.result(60)
    assert len(queues.queue(redis, QueueName.RUNS)) == 1
    assert workers_listed(redis) == []


def test_nothing_is_left_of_those_that_stood_by(config: Config, redis: Redis) -> None:
    redis.sadd("rq:workers", "rq:worker:standby-killed", "rq:worker:runs-other")
    redis.hset("rq:worker:standby-lives", "pid", "1")
    redis.sadd("rq:workers", "rq:worker:standby-lives")
    with waiting(config, ("publish",)) as stands:
        queues.request(redis, "publish", "c1", name=QueueName.PUBLISH)
        stands.result(60)
    assert redis.smembers("rq:workers") == {b"rq:worker:runs-other", b"rq:worker:standby-lives"}


def test_what_another_worker_takes_at_once_does_not_end_it(
    config: Config, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "LISTEN_S", 1)
    control, late = (queues.queue(redis, name).key for name in (QueueName.CONTROL, LATE))
    with waiting(config, ("control",), patience_s=0.5, slow=(LATE,)) as stands:
        until(lambda: workers_listed(redis), "it stands by")
        for key, job, name in ((control, "ingest", "control"), (late, "tidy", LATE)):
            before = embedded_redis.workers(redis)[0].seen_at
            queues.request(redis, job, "b", name=name)
            until(lambda key=key: redis.lpop(key) is not None, "the wake-up")  # type: ignore[misc]
            until(  # type: ignore[misc]
                lambda before=before: stands.done() or embedded_redis.workers(redis)[0].seen_at > before,
                "it ends or listens again",
            )
            assert not stands.done()
        queues.request(redis, "ingest", "d2")  # nobody takes this one
        stands.result(60)


def test_what_nobody_takes_of_the_slow_queues_ends_it(
    config: Config, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "LISTEN_S", 1)
    with waiting(config, ("control",), patience_s=0.1, slow=(LATE,)) as stands:
        queues.request(redis, "tidy", "b", name=LATE)
        stands.result(60)


def test_it_outlives_a_redis_that_starts_again(
    config: Config, redis_server: "subprocess.Popen[bytes]"
) -> None:
    with embedded_redis.connect(config) as redis, waiting(config, ("publish",)) as stands:
        until(lambda: workers_listed(redis), "it stands by")
        redis_server.kill()
        redis_server.wait(60)
        again = start_redis(config)
        until(lambda: queues.request(redis, "publish", "c1", name=QueueName.PUBLISH), "Redis takes it")
        stands.result(60)
    again.kill()
    again.wait(60)


def test_a_worker_without_a_job_ends_after_a_while(config: Config, redis: Redis, tmp_path: Path) -> None:
    done: list[str] = []
    calls = {f"{queues.JOBS}.publish": done.append}
    queues.request(redis, "publish", "c1", name=QueueName.PUBLISH)
    with embedded_redis.connect(config) as own:
        workers.work(own, QueueName.PUBLISH, calls=calls, idle_s=1)
    assert done == ["c1"]


def test_after_routine_alone_a_worker_waits_for_no_more(config: Config, redis: Redis) -> None:
    done: list[str] = []
    for job in workers.ROUTINE:
        queues.enqueue(redis, QueueName.CONTROL, job, job, job_id=job)
    with embedded_redis.connect(config) as own:
        calls = dict.fromkeys(workers.ROUTINE, done.append)
        workers.work(own, QueueName.CONTROL, calls=calls, idle_s=300)
    assert set(done) == workers.ROUTINE
