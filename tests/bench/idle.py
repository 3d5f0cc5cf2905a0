"""What an idle `cardinal up` holds in memory and takes of a core."""

import time
from collections.abc import Iterator

import psutil

from tests.bench.figures import Figure
from tests.bench.world import running

SETTLE_S = 5
WATCHED_S, BRIEFLY_S = 30, 2
MB = 1024 * 1024


def measure(*, quick: bool) -> Iterator[Figure]:
    """Watch all processes of one `cardinal up` with a seeded board on which nothing happens."""
    watched_s = BRIEFLY_S if quick else WATCHED_S
    with running() as scene:
        time.sleep(SETTLE_S)
        group = psutil.Process(scene.group.pid)
        before = _cpu_s(group)
        time.sleep(watched_s)
        spent_s = _cpu_s(group) - before
        everybody = [group, *group.children(recursive=True)]
        memory = [one.memory_full_info() for one in everybody]
    note = f"{len(everybody)} processes, Redis among them"
    share = spent_s / watched_s * 100
    yield Figure("idle_cpu", share, "% of one core", 2, f"over {watched_s} s; ended children counted, too")
    yield Figure("idle_memory_pss", sum(one.pss for one in memory) / MB, "MB", note=note)
    yield Figure("idle_memory_rss", sum(one.rss for one in memory) / MB, "MB", note="shared pages many times")


def _cpu_s(group: psutil.Process) -> float:
    times = [one.cpu_times() for one in (group, *group.children(recursive=True))]
    return sum(one.user + one.system + one.children_user + one.children_system for one in times)
