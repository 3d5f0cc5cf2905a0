"""From a fresh clone to the end of the demo's story."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600


def measure(*, quick: bool) -> Iterator[Figure]:
    """Clone what is committed, set it up from nothing and, unless it is to be quick, play the story."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        fresh = Path(name) / "cardinal"
        start = time.perf_counter()
        _run("git", "clone", "--quiet", str(ROOT), str(fresh))
        _run(str(fresh / "scripts/setup"), "--demo")
        set_up_s = time.perf_counter() - start
        yield Figure("clone_to_set_up", set_up_s, "s", note="with whatever the package cache holds")
        if quick:
            return
        _run(str(fresh / "scripts/demo"), "--auto")
        took_s = time.perf_counter() - start
    note = f"set-up {set_up_s:.0f} s of it; what is committed"
    yield Figure("clone_to_end_of_demo", took_s, "s", 180, note)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout)[-500:]}")
