"""From a fresh clone and an empty home to the demo's board, and to the end of its story."""

import os
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import requests

from tests.bench.figures import Figure

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600
STOP_S = 60
SAYS = "The board is at "  # the demo, as soon as a browser gets it
DOWNLOAD = ("-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps", "--require-hashes")


def measure(*, quick: bool) -> Iterator[Figure]:
    """Clone what is committed, set it up from nothing and, unless it is to be quick, play the demo."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        home, fresh = Path(name) / "home", Path(name) / "cardinal"
        home.mkdir()
        start = time.perf_counter()
        _run(home, "git", "clone", "--quiet", str(ROOT), str(fresh))
        _run(home, str(fresh / "scripts/setup"), "--demo")
        set_up_s = time.perf_counter() - start
        raw = _unpacked(home, fresh, Path(name))
        yield raw
        note = "only what the demo needs, nothing cached"
        yield Figure("clone_to_set_up", set_up_s, "s", note=note, raw=raw.name)
        if quick:
            return
        board_s = set_up_s + _board(home, fresh)
        note = f"cold .venv; set-up {set_up_s:.0f} s of it, then the demo's start"
        yield Figure("clone_to_board", board_s, "s", 30, note, raw=raw.name)
        start = time.perf_counter()
        _run(home, str(fresh / "scripts/demo"), "--auto")
        took_s = set_up_s + time.perf_counter() - start
    note = f"set-up {set_up_s:.0f} s of it; what is committed"
    yield Figure("clone_to_end_of_demo", took_s, "s", 180, note)


def _unpacked(home: Path, fresh: Path, folder: Path) -> Figure:
    """Fetch the wheels of the set-up again, and measure how long it takes to unpack them."""
    wheels = folder / "wheels"
    lists = (f"--requirement={fresh}/requirements/{name}.txt" for name in ("build", "app"))
    _run(home, str(fresh / ".venv/bin/python"), *DOWNLOAD, f"--dest={wheels}", *lists)
    files = sorted(wheels.glob("*.whl"))
    start = time.perf_counter()
    for file in files:
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(folder / "unpacked")
    took_s = time.perf_counter() - start
    note = (
        f"the same {len(files)} wheels, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB, from disk"
    )
    return Figure("raw_wheels_unpacked", took_s, "s", note=note)


def _board(home: Path, fresh: Path) -> float:
    """Start the demo for the first time; return the seconds until its board is served, and stop it."""
    start = time.perf_counter()
    words = [str(fresh / "scripts/demo"), "--no-browser"]
    with subprocess.Popen(words, env=_environment(home), stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            said = next((line for line in demo.stdout if line.startswith(SAYS)), "")
            if not said:
                raise RuntimeError(f"the demo showed no board: exit status {demo.wait(STOP_S)}")
            requests.get(said.removeprefix(SAYS).strip(), timeout=PATIENCE_S).raise_for_status()
            return time.perf_counter() - start
        finally:
            demo.send_signal(signal.SIGINT)
            try:
                demo.communicate(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                demo.kill()


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home)}


def _run(home: Path, *command: str) -> None:
    done = subprocess.run(
        command, env=_environment(home), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout)[-500:]}")
