"""Processes of all hosts: the workers that Redis knows, and the parts of this home's own group."""

import socket
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from redis.exceptions import RedisError

from bot.bootstrap import Services
from bot.system import lock_file, program
from bot.system import redis as known
from rules.text import brief, plain

NO_REDIS = "Redis does not answer, so workers are not listed: start it, or correct CARDINAL_REDIS_URL."
NO_WORKERS = "No worker is known to Redis: start {workers}."


class ProcessView(NamedTuple):
    """A process; `alive` is how long ago it last showed that it lives, or who says that it does."""

    name: str
    machine: str
    pid: str
    started: str
    alive: str


def processes(services: Services, now: datetime) -> tuple[list[ProcessView], str]:
    """Return the processes by machine, and their faults; empty where there is none."""
    home = services.config.home
    here, group = socket.gethostname(), lock_file.read_presence(home)
    names = {(here, str(pid)): name for name, pid in group.parts.items()} if group else {}
    kept = f"kept alive by {program.of_home(home)}"
    try:
        workers = known.workers(services.redis)
    except RedisError:
        return list(_parts(names, set(), kept)), NO_REDIS
    listed = [_worker(it, names, now) for it in workers]
    listed += _parts(names, {(it.machine, it.pid) for it in workers}, kept)
    nobody = NO_WORKERS.format(workers=program.of_workers(home).replace("`", ""))
    return sorted(listed, key=lambda it: (it.machine, it.name)), "" if workers else nobody


def _worker(it: known.WorkerSeen, names: dict[tuple[str, str], str], now: datetime) -> ProcessView:
    kind = it.queues.partition(",")[0].partition(":")[0]  # the first queue says it: runs:b,runs
    name = names.get((it.machine, it.pid)) or f"worker of {plain(kind)}"
    ages = (f"{brief(now - moment)} ago" for moment in (it.born_at, it.seen_at))
    return ProcessView(name, plain(it.machine), plain(it.pid), *ages)


def _parts(names: dict[tuple[str, str], str], seen: set[tuple[str, str]], kept: str) -> Iterator[ProcessView]:
    for (machine, pid), name in names.items():
        if (machine, pid) not in seen:
            yield ProcessView(name, machine, pid, "", kept)
