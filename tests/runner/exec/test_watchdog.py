"""Past its deadline nothing of a claim is alive, whatever its worker does."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from runner.errors import KilledError
from runner.exec.deadline import KILL_S, Deadline
from runner.exec.watchdog import watched

LIMIT_S = 60.0
# A worker with a child that has a child of its own, one of them in the background of a dead shell's session.
WORKER = """
import os, sys, time
from pathlib import Path
from runner.errors import RunnerError
from runner.exec.child import Child
from runner.exec.deadline import Deadline
from runner.exec.watchdog import watched

folder, lease_s, renewals, engine = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

def end_containers():
    tries = folder / "tries"
    tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
    if engine == "away" and len(tries.read_text()) < 2:
        raise RunnerError("the engine is away")

deadline = Deadline()
deadline.move(deadline.of_lease(lease_s))
with watched("run=r1", deadline, end_containers) as watchdog:
    script = "sleep 1000 & (sleep 1000 & sleep 1000) & sh -c 'sleep 1000 & exit' ; wait"
    child = Child(("/bin/sh", "-c", script), env={}, cwd=folder, cap_bytes=1000)
    print(watchdog.pid, flush=True)
    for _ in range(renewals):
        time.sleep(lease_s / 4)
        deadline.move(deadline.of_lease(lease_s))
    print("silent", flush=True)
    time.sleep(1000)
"""


class Claim:
    """A worker in a process of its own, its watchdog, and what it started."""

    def __init__(self, folder: Path, lease_s: float, renewals: int = 0, engine: str = "there") -> None:
        self.folder = folder
        command = (sys.executable, "-c", WORKER, str(folder), str(lease_s), str(renewals), engine)
        self.worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.worker.stdout is not None
        self.watchdog = psutil.Process(int(self.worker.stdout.readline()))
        self.began = time.monotonic()  # a moment after its lease did
        everyone = psutil.Process(self.worker.pid)
        until("the shell has its children", lambda: len(self.sleepers()) == 4)
        self.all = [everyone, *everyone.children(recursive=True), *self.sleepers()]

    def sleepers(self) -> list[psutil.Process]:
        """Return the processes that stand in the claim's folder."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.name() == "sleep" and process.cwd() == str(self.folder):
                    found.append(process)
        return found

    def alive(self) -> list[psutil.Process]:
        """Return who of the claim lives; whoever only waits to be reaped does not."""
        self.worker.poll()
        return [one for one in self.all if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def until(what: str, true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end, f"not seen within {LIMIT_S:.0f} s: {what}"
        time.sleep(0.01)


@contextmanager
def claim(folder: Path, lease_s: float, renewals: int = 0, engine: str = "there") -> Iterator[Claim]:
    made = Claim(folder, lease_s, renewals, engine)
    try:
        yield made
    finally:
        for process in made.alive():
            process.kill()
        made.worker.wait()
        assert made.worker.stdout is not None
        made.worker.stdout.close()


@pytest.mark.parametrize("stopped", [False, True], ids=["hanging", "stopped"])
def test_a_silent_worker_dies_with_all_that_it_started_before_its_lease_ends(
    tmp_path: Path, stopped: bool
) -> None:
    with claim(tmp_path, lease_s=2.5) as it:
        if stopped:
            os.kill(it.worker.pid, signal.SIGSTOP)
        assert len(it.alive()) >= 6
        until("nothing of the claim lives", lambda: not it.alive())
        assert (
            1.9 < time.monotonic() - it.began < 2.5 + 0.5
        )  # the start of its interpreter is not the lease's
        assert it.worker.wait() == -signal.SIGKILL
        assert (tmp_path / "tries").read_text() == "x"


def test_a_worker_that_renews_lives_on(tmp_path: Path) -> None:
    with claim(tmp_path, lease_s=1.0, renewals=8) as it:
        assert it.worker.stdout is not None
        assert it.worker.stdout.readline() == "silent\n"
        assert len(it.alive()) >= 6
        until("nothing of the claim lives", lambda: not it.alive())


def test_containers_of_a_killed_worker_are_ended_as_soon_as_their_engine_answers(tmp_path: Path) -> None:
    with claim(tmp_path, lease_s=1000, engine="away") as it:
        it.worker.kill()
        it.worker.wait()
        until("its watchdog is gone", lambda: not it.watchdog.is_running())
        assert (tmp_path / "tries").read_text() == "xx"


def test_a_worker_notices_that_it_is_not_watched_any_more(tmp_path: Path) -> None:
    with watched("run=r1", Deadline(), lambda: None) as watchdog:
        watchdog.require()
        os.kill(watchdog.pid, signal.SIGKILL)
        until("its watchdog is gone", lambda: psutil.Process(watchdog.pid).status() == psutil.STATUS_ZOMBIE)
        with pytest.raises(KilledError, match="watchdog"):
            watchdog.require()


def test_a_watchdog_goes_when_its_claim_ends(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with watched("run=r1", Deadline(), ended.touch) as watchdog:
        pass
    assert not psutil.pid_exists(watchdog.pid)
    assert not ended.exists()


def test_a_deadline_leaves_time_to_kill_and_only_a_known_renewal_extends_it() -> None:
    deadline = Deadline()
    deadline.shorten(deadline.of_lease(15))
    assert 11.9 < deadline.left_s < 15 - KILL_S + 0.01
    deadline.shorten(deadline.of_lease(600))
    assert deadline.left_s < 12.1
    deadline.move(deadline.of_lease(600))
    assert 596.9 < deadline.left_s < 597.1
    deadline.shorten(deadline.of_lease(1))
    assert deadline.left_s < 0.81
