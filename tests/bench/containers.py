"""What a command in a container costs: until it says something, and until nothing of it is left."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ledger.ids import CardId, RunId
from runner.exec.stream import Line
from runner.run.run_spec import HostPaths
from runner.workspaces.backends.docker import Docker
from runner.workspaces.contract import Tenancy, Workspace
from runner.workspaces.docker.engine import engine_address
from tests.bench.figures import Figure, percentile

COMMANDS, FEW_COMMANDS = 40, 2
PATIENCE_S = 60
GOAL_S = 1.0


def measure(*, quick: bool) -> Iterator[Figure]:
    """Start commands one after the other in one card's place, each in a container of its own."""
    backend, count = Docker(), FEW_COMMANDS if quick else COMMANDS
    problem = backend.problem()
    if problem:
        raise RuntimeError(f"{problem}; or run scripts/engine scripts/bench")
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        root = Path(name)
        root.chmod(0o755)
        paths = HostPaths(*(root / part for part in ("mirrors", "workspaces", "logs", "scenarios")))
        workspace = backend.open(paths, Tenancy(CardId("bench"), RunId("bench"), 1))
        try:
            _once(workspace)  # the first one pays what happens once: which client fits, which image it is
            took = [_once(workspace) for _ in range(count)]
        finally:
            workspace.destroy()
    note = f"{count} of them, at {engine_address()}"
    for moment, times in (("first_output", [one[0] for one in took]), ("removed", [one[1] for one in took])):
        goal = GOAL_S if moment == "first_output" else None
        yield Figure(
            f"container_create_to_{moment}_p50", percentile(times, 0.5), "s", goal, note, raw="raw_container"
        )
        yield Figure(f"container_create_to_{moment}_p95", percentile(times, 0.95), "s")


def _once(workspace: Workspace) -> tuple[float, float]:
    """Return the seconds from before the container was made to its first line, and to its removal."""
    start = time.perf_counter()
    child = workspace.start(("/bin/sh", "-c", "echo here"), env={}, writable=True, cap_bytes=1_000_000)
    try:
        while not any(isinstance(one, Line) for one in child.hear(0.05)):
            if time.perf_counter() - start > PATIENCE_S:
                raise TimeoutError(f"a container said nothing within {PATIENCE_S} s")
        first_s = time.perf_counter() - start
        child.exit_code(PATIENCE_S)
    finally:
        child.close()
    return first_s, time.perf_counter() - start
