"""`python -m tests.bench`: measure what Cardinal promises and print one JSON document."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from pysqlite3 import dbapi2 as sqlite

from tests.bench import (
    added,
    agents,
    appending,
    boards,
    burst,
    clients,
    clone,
    commands,
    containers,
    day,
    deliveries,
    dependents,
    drags,
    gateway,
    hooks,
    idle,
    limits,
    live,
    monitoring,
    pages,
    peers,
    rebuilding,
    record,
    storm,
    story,
    sweeping,
    takeover,
    yardstick,
)
from tests.bench.figures import Figure, say

AT_ONCE = 3  # quick parts
PARTS = {
    "limits": limits.measure,
    "appending": appending.measure,
    "rebuilding": rebuilding.measure,
    "boards": boards.measure,
    "deliveries": deliveries.measure,
    "drags": drags.measure,
    "dependents": dependents.measure,
    "burst": burst.measure,
    "live": live.measure,
    "clients": clients.measure,
    "pages": pages.measure,
    "monitoring": monitoring.measure,
    "gateway": gateway.measure,
    "containers": containers.measure,
    "agents": agents.measure,
    "added": added.measure,
    "story": story.measure,
    "sweep": sweeping.measure,
    "takeover": takeover.measure,
    "storm": storm.measure,
    "day": day.measure,
    "idle": idle.measure,
    "clone": clone.measure,
    "hooks": hooks.measure,
    "commands": commands.measure,
}
# Only when they are asked for: one fetches programs of others, one takes half an hour.
ON_REQUEST = {"peers": peers.measure, "yardstick": yardstick.measure}


def main() -> int:
    """Measure; return 1 when a goal is missed, or, at the smallest size, where a goal means nothing, when
    `docs/reference/benchmark.md` does not know a figure with its goal.
    """
    words = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    words.add_argument(
        "--only", choices=sorted(PARTS | ON_REQUEST), action="append", help="measure this part alone"
    )
    words.add_argument(
        "--quick",
        action="store_true",
        help="each part at its smallest size; a missed goal is said, but no error",
    )
    words.add_argument(
        "--record",
        action="store_true",
        help="keep the figures in docs/benchmark.json, which a page is made of",
    )
    words.add_argument(
        "--peers",
        action="store_true",
        help="only Cardinal's board beside those of others, on the same work; fetches them from PyPI",
    )
    choice = words.parse_args()
    if choice.quick and choice.record:
        words.error("--quick measures nothing that is worth keeping")
    wanted = [name for name in PARTS | ON_REQUEST if name == "limits" or name in (choice.only or PARTS)]
    if choice.peers:
        wanted = ["limits", "peers"]
    here = machine()  # before the measures load it
    figures = list(_measured(wanted, quick=choice.quick))
    raw = {figure.name: figure for figure in figures}
    entries = {figure.name: figure.to_json(raw.get(figure.raw)) for figure in figures}
    missed = [figure.name for figure in figures if figure.met is False]
    document = {"machine": here, "quick": choice.quick, "figures": entries, "missed": missed}
    print(json.dumps(document, indent=1))
    if choice.record:
        record.keep(here, entries)
    if choice.quick:
        strangers = record.strangers(figures)
        say("".join(f"{line}\n" for line in strangers) or "the benchmark's page has every figure and goal")
        return 1 if strangers else 0
    return 1 if missed else 0


def _measured(names: Sequence[str], *, quick: bool) -> Iterator[Figure]:
    """Measure one part after the other. Quick figures mean nothing: those parts are played side by side."""
    if not quick:
        yield from chain.from_iterable(_part(name, quick=False) for name in names)
        return
    with ProcessPoolExecutor(AT_ONCE) as pool:
        for figures in pool.map(partial(_part, quick=True), reversed(names)):  # the long ones are at the end
            yield from figures


def _part(name: str, *, quick: bool) -> list[Figure]:
    start = time.perf_counter()
    say(f"{name} …")
    figures = []
    for figure in (PARTS | ON_REQUEST)[name](quick=quick):
        say(f"  {figure.name}: {figure.value:.3f} {figure.unit}" + ("  MISSED" * (figure.met is False)))
        for part, count in figure.parts.items():
            say(f"  {count:6g} {part}")
        figures.append(figure)
    say(f"{name} took {time.perf_counter() - start:.0f} s")
    return figures


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    return {
        "processor": _row("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{int(_row('/proc/meminfo', 'MemTotal').split()[0]) / 1e6:.0f} GB",
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "sqlite": sqlite.sqlite_version,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _row(path: str, name: str) -> str:
    """Return the value of the first line of that name; `0` without one."""
    lines = (line.partition(":") for line in Path(path).read_text(encoding="ascii").splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "0")


if __name__ == "__main__":
    sys.exit(main())
