"""Wake-ups through a real Redis: one waits for one piece of work, and losing Redis is survived."""

import json
import os
import pickle
import signal
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis
from rq.suspension import suspend

from bot.daemon import workers
from bot.scheduler import queues, ticker
from bot.scheduler.queues import QueuedCall, QueueName, WakeUp, enqueue
from bot.system import redis as embedded_redis
from bot.system.config import Config
from tests.bot.conftest import start_redis
from tests.bot.daemon import playground
from tests.bot.daemon.test_group import alive
from tests.ledger.queue.test_hosts import beat, fall_silent
from tests.ledgers import new_ledger
from tests.waiting import until
from tests.warm import Warm

NOTE = "tests.bot.daemon.playground.note"


@contextmanager
def worker(config: Config, name: str) -> Iterator[Warm]:
    environ = {"CARDINAL_HOME": str(config.home), "PATH": "/usr/bin:/bin"}
    process = Warm(playground.work, name, env=environ)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.close()


def lengths(redis: Redis) -> dict[str, int]:
    """Return how many wake-ups wait in each queue."""
    return {str(name): len(queues.queue(redis, name)) for name in QueueName}


def read(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1] if path.exists() else []


def noted(path: Path, count: int) -> Callable[[], bool]:
    return lambda: len(read(path)) >= count


def test_a_wake_up_that_waits_makes_the_next_of_its_id_needless(redis: Redis) -> None:
    assert all(enqueue(redis, "control", NOTE, "f", "x", job_id="look-PVTI_1") for _ in range(3))
    assert enqueue(redis, "control", NOTE, "f", "x", job_id="look-PVTI_2")
    assert lengths(redis) == {"control": 2, "publish": 0, "assist": 0, "runs": 0}


def test_a_wake_up_that_has_begun_lets_the_next_through(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "control"):
        for count, text in enumerate(("one", "two"), start=1):
            assert enqueue(redis, "control", NOTE, str(out), text, job_id="same")
            until(noted(out, count), "both were carried out")
    assert read(out) == ["one", "two"]


def test_nothing_of_a_job_that_was_done_stays_in_redis(config: Config, redis: Redis, tmp_path: Path) -> None:
    with worker(config, "control"):
        enqueue(redis, "control", NOTE, str(tmp_path / "noted"), "x", job_id="same")
        until(noted(tmp_path / "noted", 1), "it was carried out")
        until(lambda: not [*redis.scan_iter("rq:job:*"), *redis.scan_iter("cardinal:*")], "nothing is left")


def test_a_job_takes_few_commands_of_redis(config: Config, redis: Redis, tmp_path: Path) -> None:
    with worker(config, "control"):
        before = redis.info("stats")["total_commands_processed"]
        for count in range(10):
            enqueue(redis, "control", NOTE, str(tmp_path / "noted"), "x", job_id=f"j{count}")
            until(noted(tmp_path / "noted", count + 1), "it was carried out")
        assert redis.info("stats")["total_commands_processed"] - before < 10 * 18


def test_a_failed_job_does_not_stop_its_worker(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "control") as process:
        enqueue(redis, "control", "tests.bot.daemon.playground.fail", str(out), "bad", job_id="a")
        enqueue(redis, "control", NOTE, str(out), "good", job_id="b")
        until(noted(out, 2), "both were carried out")
        assert process.poll() is None
    assert read(out) == ["bad", "good"]


def test_a_worker_that_waits_is_woken(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "publish"):
        enqueue(redis, "publish", NOTE, str(out), "warm", job_id="warm")
        until(noted(out, 1), "the first was carried out")
        enqueue(redis, "publish", NOTE, str(out), "x", job_id="x")
        until(noted(out, 2), "the second was carried out")


def test_a_worker_does_not_rest_because_somebody_suspends_all(
    config: Config, redis: Redis, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    with worker(config, "control"):
        suspend(redis)
        for count, text in enumerate(("one", "two"), start=1):
            enqueue(redis, "control", NOTE, str(notes), text, job_id=text)
            until(noted(notes, count), "all were carried out")


def test_jobs_travel_as_json_and_not_as_pickles(redis: Redis) -> None:
    enqueue(redis, "control", NOTE, "f", "x", job_id="a")
    control = queues.queue(redis, "control")
    (job_id,) = control.job_ids
    job = WakeUp.fetch(job_id, redis, control.serializer)
    assert isinstance(job, WakeUp)
    assert job.call == QueuedCall(NOTE, ("f", "x"), "a")


def test_an_unknown_queue_is_refused(redis: Redis) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        enqueue(redis, "nonsense", NOTE, job_id="a")


def test_without_redis_a_wake_up_is_false_and_quick(config: Config) -> None:
    started = time.monotonic()
    assert enqueue(embedded_redis.connect_redis(config), "control", NOTE, job_id="a") is False
    assert time.monotonic() - started < 60


def test_the_first_wake_up_after_redis_was_restarted_gets_through(config: Config) -> None:
    first, client = start_redis(config), embedded_redis.connect_redis(config)
    assert enqueue(client, "control", NOTE, job_id="a")
    first.kill()
    first.wait(60)
    second = start_redis(config)
    assert enqueue(client, "control", NOTE, job_id="b")
    second.kill()
    second.wait(60)


def test_a_worker_survives_that_redis_is_killed_and_comes_back_empty(config: Config, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    first = start_redis(config)
    client = embedded_redis.connect_redis(config)
    with worker(config, "control") as process:
        until(lambda: client.info("clients")["blocked_clients"] == 1, "the worker waits")
        first.kill()
        first.wait(60)
        second = start_redis(config)
        enqueue(client, "control", NOTE, str(out), "after", job_id="a")
        until(noted(out, 1), "it was carried out")
        assert process.poll() is None
        second.kill()
        second.wait(60)


def _child(path: Path) -> int:
    until(noted(path, 1), "the process is there")
    return int(read(path)[0].split()[1])


def test_a_run_stops_with_its_worker_and_may_clean_up(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "runs") as process:
        enqueue(redis, "runs", "tests.bot.daemon.playground.hang", str(out), job_id="run-r1-1")
        child = _child(out)
        assert child != process.pid
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert read(out)[1:] == ["left"]
    assert not psutil.pid_exists(child)


def test_a_run_that_is_being_claimed_is_not_woken_twice(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "runs") as process:
        enqueue(redis, "runs", "tests.bot.daemon.playground.hang", str(out), job_id="run-r1-1")
        _child(out)
        enqueue(redis, "runs", "tests.bot.daemon.playground.hang", str(out), job_id="run-r1-1")
        assert lengths(redis)["runs"] == 0
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert len(read(out)) == 2  # it began and left, once


def test_a_run_whose_child_is_gone_can_be_woken_at_once(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "runs"):
        enqueue(redis, "runs", NOTE, str(out), "first", job_id="run-r1-1")
        until(lambda: not redis.exists(queues.mark_key("run-r1-1")), "the mark is gone")
        enqueue(redis, "runs", NOTE, str(out), "second", job_id="run-r1-1")
        until(noted(out, 2), "both were carried out")


def test_a_run_dies_with_a_worker_that_is_killed(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    with worker(config, "runs") as process:
        enqueue(redis, "runs", "tests.bot.daemon.playground.hang", str(out), job_id="run-r1-1")
        child = _child(out)
        process.kill()
        process.wait(60)
        until(lambda: not alive(child), "the child is gone")
    assert read(out)[1:] == []


class Pickled:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self.folder,)


def plant(redis: Redis, name: str, call: object, **fields: Any) -> str:
    """Queue a job as somebody would who can write to Redis; return its id."""
    job_id = uuid.uuid4().hex
    data = call if isinstance(call, bytes) else zlib.compress(json.dumps(call).encode())
    redis.hset(f"rq:job:{job_id}", mapping={"data": data, "description": "x", "status": "queued"} | fields)
    redis.rpush(f"rq:queue:{name}", job_id)
    return job_id


@pytest.mark.parametrize("name", ["control", "runs"])
def test_nothing_that_somebody_else_wrote_into_redis_is_called_or_read(
    config: Config, redis: Redis, tmp_path: Path, name: str
) -> None:
    out, made = tmp_path / "noted", str(tmp_path / "made")
    fail = "tests.bot.daemon.playground.fail"
    bait: list[object] = ["os.mkdir", None, [made], {}]
    callbacks = {
        f"{kind}_callback_name": "tests.bot.daemon.playground.owned" for kind in ("failure", "success")
    }
    hook = json.dumps([{"url": "http://127.0.0.1:9/", "job_status": "failed"}])
    planted = plant(redis, "elsewhere", bait)
    calls: tuple[object, ...] = (
        bait,
        ["tests.bot.daemon.playground.os.mkdir", None, [made], {}],
        ["mkdir", "os", [made], {}],
        [NOTE, None, [str(out)], {"text": "keyword"}],
        [NOTE, None, [str(out), 3], {}],
        [NOTE, "x", [str(out), "instance"], {}],
        [NOTE, None, "ab", {}],
        [[NOTE], None, [], {}],
        pickle.dumps(("os.mkdir", None, (made,), {})),
        zlib.compress(b"[" * 9_000_000),
        b"",
    )
    for call in calls:
        plant(redis, name, call)
    redis.rpush(f"rq:queue:{name}", "no id at all", b"\xff", "unknown")
    redis.set("rq:job:text", "not a hash")
    redis.rpush(f"rq:queue:{name}", "text")
    meta, never = pickle.dumps(Pickled(made)), {"repeats_left": "9", "retries_left": "9", "timeout": "x"}
    for function in (NOTE, fail):
        call = [function, None, [str(out), "called"], {}]
        extra = {"webhooks": hook, "meta": meta, "result": meta, "created_at": "never", **callbacks, **never}
        job_id = plant(redis, name, call, **extra, repeat_intervals="[0]", retry_intervals="[0]")
        redis.sadd(f"rq:job:{job_id}:dependents", planted)
        redis.zadd(f"rq:wip:{name}", {f"{job_id}:1": 1})
    redis.lpush(f"rq:queue:{name}:intermediate", planted)
    with worker(config, name) as process:
        enqueue(redis, name, NOTE, str(out), "good", job_id="good")
        until(lambda: read(out)[-1:] == ["good"], "the good one was called")
        until(lambda: not redis.exists(f"rq:queue:{name}"), "the queue is empty")
        assert process.poll() is None
    assert read(out) == ["called", "called", "good"]
    assert not Path(made).exists()
    assert not redis.exists("rq:scheduler:control", "rq:queue:elsewhere:intermediate")


def test_queues_call_what_exists_and_nothing_else_of_the_jobs() -> None:
    assert set(workers.CALLED) == set(QueueName)
    for name in QueueName:
        assert all(key.startswith("bot.scheduler.jobs.") for key in workers.calls_of(name))
    assert set(workers.calls_of(QueueName.RUNS)) == {"bot.scheduler.jobs.execute"}


def test_every_queue_has_a_time_limit() -> None:
    assert set(queues.TIME_LIMIT_S) == set(QueueName)


def test_a_worker_takes_what_only_its_host_may_take_and_leaves_other_hosts_theirs(
    config: Config, redis: Redis, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    assert enqueue(redis, QueueName.RUNS, NOTE, str(notes), "any", job_id="run-r1-1")
    assert enqueue(redis, queues.host_queue("b"), NOTE, str(notes), "b", job_id="run-r2-1")
    assert enqueue(redis, queues.host_queue("c"), NOTE, str(notes), "c", job_id="run-r3-1")
    with worker(config, "runs"):
        until(noted(notes, 2), "both were carried out")
    assert read(notes) == ["b", "any"]
    assert len(queues.queue(redis, queues.host_queue("c"))) == 1


def grow_old(redis: Redis, job_id: str) -> None:
    """Let a mark be as old as if its wake-up had waited for long."""
    redis.expire(queues.mark_key(job_id), queues.MARK_S - queues.LOST_AFTER_S - 1)


def test_a_wake_up_that_waits_for_long_is_not_added_again_and_one_that_was_lost_is(redis: Redis) -> None:
    for _ in range(3):
        assert enqueue(redis, "control", NOTE, "f", "x", job_id="look-PVTI_1")
        grow_old(redis, "look-PVTI_1")
    assert lengths(redis)["control"] == 1
    redis.delete(queues.queue(redis, "control").key)  # as its worker does, which is killed then
    assert enqueue(redis, "control", NOTE, "f", "x", job_id="look-PVTI_1")
    assert lengths(redis)["control"] == 1


def test_a_wake_up_in_either_lane_of_control_is_in_the_way_of_the_other(redis: Redis) -> None:
    assert enqueue(redis, queues.ECHOES, NOTE, "f", "x", job_id="ingest-d")
    grow_old(redis, "ingest-d")
    assert enqueue(redis, "control", NOTE, "f", "x", job_id="ingest-d")
    assert lengths(redis)["control"] == 0
    host = queues.host_queue("b")
    assert enqueue(redis, host, NOTE, "f", "x", job_id="run-r1-1")
    grow_old(redis, "run-r1-1")
    assert enqueue(redis, "runs", NOTE, "f", "x", job_id="run-r1-1"), "its host is gone: any may take it"
    assert lengths(redis)["runs"] == 1


def test_what_people_did_goes_before_what_apps_did(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    for n in range(3):
        enqueue(redis, queues.ECHOES, NOTE, str(out), f"echo {n}", job_id=f"echo-{n}")
    enqueue(redis, "control", NOTE, str(out), "person", job_id="person")
    with worker(config, "control"):
        until(noted(out, 4), "all were carried out")
    assert read(out)[0] == "person"


def test_a_crowd_and_all_others_are_served_in_turn(config: Config, redis: Redis, tmp_path: Path) -> None:
    out = tmp_path / "noted"
    for n in range(5):
        enqueue(redis, queues.CROWD, NOTE, str(out), f"crowd {n}", job_id=f"crowd-{n}")
    for n in range(3):
        enqueue(redis, "control", NOTE, str(out), f"other {n}", job_id=f"other-{n}")
    with worker(config, "control"):
        until(noted(out, 8), "all were carried out")
    pairs = [name for n in range(3) for name in (f"other {n}", f"crowd {n}")]
    assert read(out) == [*pairs, "crowd 3", "crowd 4"]


def test_wake_ups_of_one_kind_that_wait_together_are_taken_together_and_others_keep_their_order(
    redis: Redis,
) -> None:
    for name in ("a", "b"):
        assert queues.request(redis, "ingest", name)
    assert queues.request(redis, "tidy")
    assert queues.request(redis, "ingest", "c")
    assert queues.take_more(redis, QueueName.CONTROL, "bot.scheduler.jobs.ingest") == ("a", "b")
    assert queues.take_more(redis, QueueName.CONTROL, "bot.scheduler.jobs.ingest") == ()
    assert queues.request(redis, "ingest", "a")  # its mark went with it
    left = queues.queue(redis, QueueName.CONTROL).get_job_ids()
    labels = [redis.hget(queues.WakeUp.key_for(rq_id), "description") for rq_id in left]
    assert labels == [b"tidy", b"ingest-c", b"ingest-a"]


def test_one_call_takes_no_more_wake_ups_than_its_bound(redis: Redis) -> None:
    for n in range(queues.MAX_TOGETHER + 5):
        queues.request(redis, "ingest", str(n))
    taken = queues.take_more(redis, QueueName.CONTROL, "bot.scheduler.jobs.ingest")
    assert len(taken) == queues.MAX_TOGETHER - 1
    assert len(queues.queue(redis, QueueName.CONTROL)) == 6


def test_each_host_that_lives_tidies_up_itself(config: Config, redis: Redis, tmp_path: Path) -> None:
    engine = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    for name in ("b", "c.d", "dead"):
        beat(engine, name)
    fall_silent(engine, "dead")
    ticker.request_upkeep(engine, redis, "here")
    engine.dispose()
    waiting = {
        name: len(queues.queue(redis, queues.tidy_queue(name))) for name in ("here", "b", "c.d", "dead")
    }
    assert waiting == {"here": 2, "b": 2, "c.d": 2, "dead": 0}
    redis.flushdb()
    out = tmp_path / "noted"
    for name in ("c.d", "b"):
        enqueue(redis, queues.tidy_queue(name), NOTE, str(out), name, job_id=f"tidy-{name}")
    with worker(config, "control"):
        until(noted(out, 1), "the first was carried out")
        enqueue(redis, "control", NOTE, str(out), "the last", job_id="last")
        until(noted(out, 2), "both were carried out")
    assert read(out) == ["b", "the last"], "a worker of host b takes nothing of another's"
