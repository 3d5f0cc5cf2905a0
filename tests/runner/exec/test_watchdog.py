"""Past its deadline nothing of a claim is alive, whatever its worker does."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from runner.errors import KilledError, RunnerError
from runner.exec import watchdog as exec_watchdog
from runner.exec.child import Child
from runner.exec.deadline import KILL_S, Deadline, Silence
from runner.exec.watchdog import Steps, start_watchdog
from tests.waiting import until


def work(folder: Path, deadline: Deadline, silence: Silence, engine: str, says: Connection) -> None:
    """Be a worker whose child has children, one of them in the background of a dead shell's session."""

    def end_containers() -> None:
        tries = folder / "tries"
        tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
        if engine == "away" and len(tries.read_text()) < 2:
            raise RunnerError("the engine is away")

    def record_hang(silent_s: float) -> None:
        hangs = folder / "hangs"
        hangs.write_text(hangs.read_text() + "x" if hangs.exists() else "x")
        if engine == "held" and psutil.Process(watchdogs_worker).status() != psutil.STATUS_ZOMBIE:
            raise RunnerError("the worker keeps the ledger")
        (folder / "silent").write_text(f"{silent_s:.2f}")

    watchdogs_worker = os.getpid()
    with start_watchdog("run=r1", deadline, silence, Steps(end_containers, record_hang)) as watchdog:
        script = "sleep 1000 & (sleep 1000 & sleep 1000) & sh -c 'sleep 1000 & exit' ; wait"
        child = Child(("/bin/sh", "-c", script), env={}, cwd=folder, cap_bytes=1000)
        says.send((watchdog.pid, child.pid))
        silence.sign()
        while True:
            ctypes.PyDLL(None).sleep(1000)  # it keeps the interpreter's lock


class Claim:
    """A worker in a process of its own, its watchdog, what it started, and the deadline that they share."""

    def __init__(self, folder: Path, engine: str = "there") -> None:
        self.folder, self.deadline, self.silence = folder, Deadline(), Silence(600)
        context = multiprocessing.get_context("fork")
        said, says = context.Pipe(duplex=False)
        self.worker = context.Process(target=work, args=(folder, self.deadline, self.silence, engine, says))
        self.worker.start()
        with said, says:
            assert said.poll(60)
            self.watchdog = psutil.Process(said.recv()[0])
        assert self.worker.pid
        everyone = psutil.Process(self.worker.pid)
        until(lambda: len(self.sleepers()) == 4, "the shell has its children")
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
        return [one for one in self.all if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    def looked(self, times: int = 2) -> None:
        """Return once the watchdog has looked at the clock again: each look ends a sleep."""
        before = self.watchdog.num_ctx_switches().voluntary
        until(lambda: self.watchdog.num_ctx_switches().voluntary >= before + times, "it looks at the clock")


@contextmanager
def claim(folder: Path, engine: str = "there") -> Iterator[Claim]:
    new_claim = Claim(folder, engine)
    try:
        yield new_claim
    finally:
        for process in new_claim.alive():
            with contextlib.suppress(psutil.NoSuchProcess):  # it is about to end by itself
                process.kill()
        new_claim.worker.join(60)
        new_claim.worker.close()


@pytest.mark.parametrize("stopped", [False, True], ids=["hanging", "stopped"])
def test_a_silent_worker_dies_past_its_deadline_with_all_that_it_started(
    tmp_path: Path, stopped: bool
) -> None:
    with claim(tmp_path) as it:
        if stopped:
            os.kill(it.worker.pid or 0, signal.SIGSTOP)
        everyone = len(it.alive())
        assert everyone >= 6
        it.deadline.move(it.deadline.of_lease(1))
        until(lambda: len(it.alive()) < everyone, "somebody of the claim dies")
        assert it.deadline.left_s <= 0, "it was killed before its deadline"
        until(lambda: not it.alive(), "nothing of the claim lives")
        it.worker.join(60)
        assert it.worker.exitcode == -signal.SIGKILL
        assert (tmp_path / "tries").read_text() == "x"


@pytest.mark.parametrize("ledger", ["there", "held"])
def test_a_worker_that_hangs_dies_with_all_that_it_started_and_the_ledger_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: str
) -> None:
    monkeypatch.setattr(exec_watchdog, "TRY_S", 0.1)
    with claim(tmp_path, engine=ledger) as it:
        it.looked()
        assert len(it.alive()) >= 6
        it.silence.put_off(-600)
        until(lambda: not it.alive(), "nothing of the claim lives")
        assert it.deadline.left_s > 0
        it.worker.join(60)
        until(lambda: not it.watchdog.is_running(), "its watchdog is gone")
        assert (len((tmp_path / "hangs").read_text()) > 1) == (ledger == "held")
        assert 0 < float((tmp_path / "silent").read_text()) < 60
        assert (tmp_path / "tries").read_text() == "x"


def test_a_worker_that_somebody_stopped_does_not_hang(tmp_path: Path) -> None:
    with claim(tmp_path) as it:
        os.kill(it.worker.pid or 0, signal.SIGSTOP)
        until(lambda: psutil.Process(it.worker.pid).status() == psutil.STATUS_STOPPED, "it is stopped")
        it.silence.put_off(-600)
        until(lambda: it.silence.left_s > 0, "it has its time again")
        os.kill(it.worker.pid or 0, signal.SIGCONT)
        it.looked()
        assert len(it.alive()) >= 6
        assert not (tmp_path / "hangs").exists()


def test_a_look_that_comes_late_allows_as_much_more_silence(
    tmp_path: Path,
) -> None:
    """On a machine that has no time for the watchdog the worker has had none either."""
    with claim(tmp_path) as it:
        before = it.silence.left_s
        it.watchdog.suspend()
        until(lambda: it.silence.left_s < before - 1.5, "the watchdog is late")
        it.watchdog.resume()
        until(lambda: it.silence.left_s > before - 1.0, "the worker has the time back")


def test_a_worker_that_renews_lives_on(tmp_path: Path) -> None:
    with claim(tmp_path) as it:
        first = Deadline()
        first.move(first.of_lease(2))
        it.deadline.move(first.of_lease(2))
        it.looked()
        it.deadline.move(it.deadline.of_lease(600))
        until(lambda: first.left_s < 0, "its first lease is over")
        it.looked()
        assert len(it.alive()) >= 6


def test_containers_of_a_killed_worker_are_ended_as_soon_as_their_engine_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_watchdog, "TRY_S", 0.1)
    with claim(tmp_path, engine="away") as it:
        it.worker.kill()
        until(lambda: not it.watchdog.is_running(), "its watchdog is gone")
        assert (tmp_path / "tries").read_text() == "xx"


def test_a_worker_notices_that_it_is_not_watched_any_more(tmp_path: Path) -> None:
    with start_watchdog("run=r1", Deadline(), Silence(), Steps()) as watchdog:
        watchdog.require()
        os.kill(watchdog.pid, signal.SIGKILL)
        until(lambda: psutil.Process(watchdog.pid).status() == psutil.STATUS_ZOMBIE, "its watchdog is gone")
        with pytest.raises(KilledError, match="watchdog"):
            watchdog.require()


def test_a_watchdog_goes_when_its_claim_ends(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with start_watchdog("run=r1", Deadline(), Silence(), Steps(ended.touch)) as watchdog:
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
