"""Processes on Health: each worker that Redis knows, of any host, and the parts of `cardinal up` here."""

import os
import socket
from dataclasses import replace
from datetime import timedelta
from typing import Any

from redis import Redis
from rq import SimpleWorker

from bot.scheduler.queues import QueueName, host_queue, queue
from bot.system import lock_file
from bot.system import redis as known
from bot.system.clock import utc_now
from bot.system.lock_file import Presence
from bot.web.pages.health import NO_REDIS, processes
from tests.bot.web.pages.world import Pages

HERE, UP = socket.gethostname(), "kept alive by cardinal up"


def born(redis: Redis, machine: str, pid: int) -> None:
    """Have a worker sign on, as if on that machine."""
    queues = [queue(redis, name) for name in (host_queue("b"), QueueName.RUNS)]
    worker = SimpleWorker(queues, connection=redis, name=f"w{pid}")
    worker.hostname, worker.pid = machine, pid
    worker.register_birth()


def test_workers_of_all_hosts_are_listed_with_their_signs_of_life(pages: Pages, redis: Redis) -> None:
    services = replace(pages.cardinal.services, redis=redis)
    assert processes(services, utc_now()) == (
        [],
        "Redis knows of no workers: start cardinal up or cardinal work.",
    )
    born(redis, HERE, 11)
    born(redis, "other\x1b[31m", 12)
    redis.sadd("rq:workers", "rq:worker:gone", "rq:worker:torn")
    torn: dict[Any, Any] = {
        "hostname": "x",
        "pid": "1",
        "queues": "q",
        "birth": "soon",
        "last_heartbeat": "never",
    }
    redis.hset("rq:worker:torn", mapping=torn)
    parts = {"runs-1": 11, "ticker": 13}
    lock_file.record_presence(services.config.home, Presence(os.getpid(), "http://here", parts))
    listed, trouble = processes(services, known.workers(redis)[0].seen_at + timedelta(seconds=30))
    assert trouble == ""
    assert sorted(it[:3] for it in listed) == [
        ("runs-1", HERE, "11"),
        ("ticker", HERE, "13"),
        ("worker of runs", "other[31m", "12"),
    ]
    alive = {it.name: it.alive for it in listed}
    assert (alive["runs-1"], alive["ticker"]) == ("30 s ago", UP)


def test_without_a_redis_the_page_says_so_and_lists_what_runs_here(pages: Pages) -> None:
    home = pages.cardinal.services.config.home
    (home / "run").mkdir(exist_ok=True)
    lock_file.record_presence(home, Presence(os.getpid(), "http://here", {"ticker": 13}))
    shown = pages.browser("bob").get("/health").text
    assert NO_REDIS in shown
    assert f"<tr><td>ticker</td><td><bdi>{HERE}</bdi></td><td>13</td><td></td><td>{UP}</td></tr>" in shown
