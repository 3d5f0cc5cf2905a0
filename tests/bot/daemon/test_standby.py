"""Standby, on a real Redis: workers that rest are asked for when something waits; nothing is taken."""

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from bot.daemon import standby, workers
from bot.daemon.standby import Post, Roster
from bot.scheduler import queues
from bot.scheduler.queues import QueueName
from bot.system import redis as embedded_redis
from bot.system.config import Config
from tests.bot.conftest import start_redis
from tests.waiting import until

LATE = "control:tidy:b"
PUBLISH = Post("publish-1", ("publish",))
LAST = Post("last", ("assist",))


class Stopped(BaseException):
    """The test is over."""


class Asked(Roster):
    """A roster whose group is the test: who is asked for works, until the test says otherwise."""

    def __init__(self, *posts: Post) -> None:
        super().__init__((*posts, LAST))
        self.names: list[str] = []

    def works(self, name: str) -> None:
        super().works(name)
        self.names.append(name)
        if name == LAST.name:
            raise Stopped


@contextmanager
def waiting(config: Config, roster: Asked) -> Iterator[Asked]:
    """Stand by in a thread, until the test is over."""
    with embedded_redis.connect_redis(config) as redis, ThreadPoolExecutor(1) as pool:
        stands: Future[None] = pool.submit(roster.stand_by, redis)
        try:
            yield roster
        finally:  # the pool waits for its thread: there has to be something to end it
            with embedded_redis.connect_redis(config) as others:
                queues.request(others, "publish", "end", name=QueueName.ASSIST)
            assert isinstance(stands.exception(60), Stopped)


def workers_listed(redis: Redis) -> list[tuple[str, str]]:
    return [(worker.pid, worker.queues) for worker in embedded_redis.workers(redis)]


def test_a_wake_up_calls_its_worker_and_still_waits(config: Config, redis: Redis) -> None:
    with waiting(config, Asked(Post("runs-1", ("runs:b", "runs")), PUBLISH)) as roster:
        until(lambda: workers_listed(redis) == [(str(os.getpid()), "runs:b,runs,publish,assist")], "listed")
        assert queues.request(redis, "execute", "r1", name=QueueName.RUNS)
        until(lambda: roster.names == ["runs-1"], "it is asked for")
        assert os.read(roster.requests, 100) == b"runs-1\n"
        assert queues.request(redis, "publish", "c1", name=QueueName.PUBLISH)
        until(lambda: roster.names == ["runs-1", "publish-1"], "the other is asked for, and nobody twice")
    assert len(queues.queue(redis, QueueName.RUNS)) == len(queues.queue(redis, QueueName.PUBLISH)) == 1


def test_who_rests_again_is_asked_for_at_once(
    config: Config, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait in Redis that began without its queues would last for an hour here."""
    monkeypatch.setattr(standby, "LISTEN_S", 3600)
    monkeypatch.setattr(embedded_redis, "ANSWER_S", 3600.0)
    roster = Asked(PUBLISH)
    Roster.works(roster, "publish-1")
    with waiting(config, roster):
        until(lambda: any(it["cmd"] == "blpop" for it in redis.client_list()), "it listens")
        queues.request(redis, "publish", "c1", name=QueueName.PUBLISH)
        roster.rests(redis, "publish-1")
        until(lambda: roster.names, "it is asked for")


def test_nothing_is_left_of_those_that_stood_by(config: Config, redis: Redis) -> None:
    redis.sadd("rq:workers", "rq:worker:standby-killed", "rq:worker:runs-other")
    redis.hset("rq:worker:standby-lives", "pid", "1")
    redis.sadd("rq:workers", "rq:worker:standby-lives")
    with waiting(config, Asked(PUBLISH)):
        until(
            lambda: b"rq:worker:standby-killed" not in redis.smembers("rq:workers"), "the killed one is gone"
        )
        left = redis.smembers("rq:workers")
        assert {b"rq:worker:runs-other", b"rq:worker:standby-lives"} < left
        assert len(left) == 3  # and this one


def test_a_second_worker_is_asked_for_what_nobody_takes(
    config: Config, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "LISTEN_S", 1)
    monkeypatch.setattr(standby, "SEEN_S", 3)
    second = Post("control-2", ("control",), (LATE,), patience_s=0.5)
    control, late = (queues.queue(redis, name).key for name in (QueueName.CONTROL, LATE))
    with waiting(config, Asked(second)) as roster:
        until(lambda: workers_listed(redis), "it stands by")
        for key, job, name in ((control, "ingest", "control"), (late, "tidy", LATE)):
            before = embedded_redis.workers(redis)[0].seen_at
            queues.request(redis, job, "b", name=name)
            until(lambda key=key: redis.lpop(key) is not None, "the wake-up")  # type: ignore[misc]
            until(
                lambda before=before: embedded_redis.workers(redis)[0].seen_at > before,  # type: ignore[misc]
                "it listens again",
            )
            assert not roster.names
        queues.request(redis, "ingest", "d2")  # nobody takes this one
        until(lambda: roster.names, "it is asked for")


def test_what_nobody_takes_of_the_slow_queues_calls_too(
    config: Config, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "LISTEN_S", 1)
    with waiting(config, Asked(Post("control-2", ("control",), (LATE,), 0.1))) as roster:
        queues.request(redis, "tidy", "b", name=LATE)
        until(lambda: roster.names, "it is asked for")


def test_it_outlives_a_redis_that_starts_again(
    config: Config, redis_server: "subprocess.Popen[bytes]"
) -> None:
    with embedded_redis.connect_redis(config) as redis, waiting(config, Asked(PUBLISH)) as roster:
        until(lambda: workers_listed(redis), "it stands by")
        redis_server.kill()
        redis_server.wait(60)
        again = start_redis(config)
        until(lambda: queues.request(redis, "publish", "c1", name=QueueName.PUBLISH), "Redis takes it")
        until(lambda: roster.names, "it is asked for")
    again.kill()
    again.wait(60)


def test_a_worker_without_a_job_ends_after_a_while(config: Config, redis: Redis, tmp_path: Path) -> None:
    done: list[str] = []
    calls = {f"{queues.JOBS}.publish": done.append}
    queues.request(redis, "publish", "c1", name=QueueName.PUBLISH)
    with embedded_redis.connect_redis(config) as own:
        workers.work_queue(own, QueueName.PUBLISH, calls=calls, idle_s=1)
    assert done == ["c1"]


def test_after_routine_alone_a_worker_waits_for_no_more(config: Config, redis: Redis) -> None:
    done: list[str] = []
    for job in workers.ROUTINE:
        queues.enqueue(redis, QueueName.CONTROL, job, job, job_id=job)
    with embedded_redis.connect_redis(config) as own:
        calls = dict.fromkeys(workers.ROUTINE, done.append)
        workers.work_queue(own, QueueName.CONTROL, calls=calls, idle_s=300)
    assert set(done) == workers.ROUTINE
