"""`python -m tests.bench`: measure what Cardinal promises and print one JSON document."""

import argparse
import json
import os
import platform
import sys
import time

from pysqlite3 import dbapi2 as sqlite

from tests.bench import (
    agents,
    appending,
    boards,
    clone,
    containers,
    deliveries,
    drags,
    gateway,
    idle,
    storm,
    story,
    sweeping,
)
from tests.bench.figures import say

PARTS = {
    "appending": appending.measure,
    "boards": boards.measure,
    "deliveries": deliveries.measure,
    "drags": drags.measure,
    "gateway": gateway.measure,
    "containers": containers.measure,
    "agents": agents.measure,
    "story": story.measure,
    "sweep": sweeping.measure,
    "storm": storm.measure,
    "idle": idle.measure,
    "clone": clone.measure,
}


def main() -> int:
    """Measure; return 1 when a goal is missed, which means nothing at the smallest size."""
    words = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    words.add_argument("--only", choices=sorted(PARTS), action="append", help="measure this part alone")
    words.add_argument(
        "--quick",
        action="store_true",
        help="each part at its smallest size; a missed goal is said, but no error",
    )
    told = words.parse_args()
    figures: dict[str, dict[str, object]] = {}
    missed: list[str] = []
    for name, measure in PARTS.items():
        if name not in (told.only or PARTS):
            continue
        start = time.perf_counter()
        say(f"{name} …")
        for figure in measure(quick=told.quick):
            figures[figure.name] = figure.shown()
            missed += [figure.name] if figure.met is False else []
            say(f"  {figure.name}: {figure.value:.3f} {figure.unit}" + ("  MISSED" * (figure.met is False)))
            for part, many in figure.parts.items():
                say(f"  {many:6g} {part}")
        say(f"{name} took {time.perf_counter() - start:.0f} s")
    document = {"machine": machine(), "quick": told.quick, "figures": figures, "missed": missed}
    print(json.dumps(document, indent=1))
    return 1 if missed and not told.quick else 0


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "sqlite": sqlite.sqlite_version,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


if __name__ == "__main__":
    sys.exit(main())
