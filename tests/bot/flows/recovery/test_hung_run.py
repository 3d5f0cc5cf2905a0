"""A run that hangs its worker is ended from outside that interpreter, and no other worker takes it."""

import ctypes
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime

import pytest

from bot.runspec import retry
from bot.scheduler import dispatch, jobs, ticker
from bot.system import liveness
from ledger.db.transactions import is_held
from ledger.events.run import RunEnded, RunHung, RunRequeued
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import RUN_HELD
from ledger.views import runs
from tests.bot.flows.cardinal import Cardinal
from tests.waiting import until

SILENT_S = 3.0
WORK = [{"progress": "Busy"}, {"finish": {"done": "Nothing was needed.", "nothing_to_do": True}}]


def match_for_ever() -> None:
    """Burn the processor in a pattern: neither a thread nor a signal's handler gets its turn."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def sleep_in_c() -> None:
    """Sleep in C code that keeps the interpreter's lock."""
    while True:
        ctypes.PyDLL(None).sleep(1000)


@pytest.fixture(autouse=True)
def _short_silences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SILENT_S", SILENT_S)
    monkeypatch.setattr(jobs, "DECIDE_S", SILENT_S)
    monkeypatch.setattr(retry, "SILENT_S", SILENT_S)


@contextmanager
def hanging(
    cardinal: Cardinal, run_id: RunId, now: Callable[[], bool], hang: Callable[[], None]
) -> Iterator[int]:
    """Carry the run out in a worker that hangs when it asks for the time and `now` says so."""
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            tick, worker = cardinal.clock, os.getpid()

            def clock() -> datetime:
                if os.getpid() == worker and now():
                    hang()
                return tick()

            services = replace(cardinal.process, clock=clock, name=liveness.name(worker))
            jobs.carry_out(services, run_id, process_of_its_own=True)
        os._exit(0)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def state_is_held(cardinal: Cardinal, run_id: RunId) -> bool:
    with event_store.reading(cardinal.services.engine) as db:
        run = runs.get(db, run_id)
    return run is not None and run.state in RUN_HELD


def killed(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


@pytest.mark.parametrize("hang", [match_for_ever, sleep_in_c])
def test_a_run_that_hangs_its_worker_fails_and_is_not_handed_to_the_next(
    cardinal: Cardinal, hang: Callable[[], None]
) -> None:
    cardinal.scenario(work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id

    def between_writes() -> bool:
        return not is_held() and state_is_held(cardinal, run_id)

    with hanging(cardinal, run_id, between_writes, hang) as pid:
        until(lambda: cardinal.events(RunHung), "the hang is in the ledger")
        until(lambda: killed(pid), "the worker is killed")
        ticker.tick(cardinal.services)
    (hung,), (ended,) = cardinal.events(RunHung), cardinal.events(RunEnded)
    assert SILENT_S <= hung.silent_s < 60
    assert (ended.ending, ended.reason) == ("failed", "hung")
    assert cardinal.events(RunRequeued) == []
    assert cardinal.ready() == ()
    cardinal.catch_up()
    assert cardinal.face(item)["Agent"].endswith("failed")
    status, report = cardinal.told(item)
    assert "hung its worker" in status
    assert "gave no sign of life for 3 s" in report
    assert "/cardinal retry" in report
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending == "succeeded", "a person may try again"
    cardinal.assert_nothing_is_stuck()


def test_a_run_that_hangs_in_its_turn_to_write_ends_although_nobody_could_write_meanwhile(
    cardinal: Cardinal,
) -> None:
    cardinal.scenario(work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id

    def in_its_turn() -> bool:
        return is_held() and state_is_held(cardinal, run_id)

    with hanging(cardinal, run_id, in_its_turn, sleep_in_c) as pid:
        until(lambda: killed(pid), "the worker is killed")
        ticker.tick(cardinal.services)  # it may see the dead worker before the hang is in the ledger
        until(lambda: cardinal.events(RunEnded), "the run is ended")
    assert len(cardinal.events(RunHung)) == 1
    assert cardinal.run(run_id).reason == "hung"
    assert cardinal.ready() == ()


def test_a_run_that_hangs_its_worker_before_the_claim_ends_too(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    with hanging(cardinal, run_id, lambda: True, sleep_in_c) as pid:
        until(lambda: killed(pid), "the worker is killed")
    assert len(cardinal.events(RunHung)) == 1
    assert cardinal.run(run_id).reason == "hung"
    assert cardinal.ready() == ()


def test_a_hang_of_an_older_claim_changes_nothing(cardinal: Cardinal) -> None:
    cardinal.scenario(work=WORK)
    item = cardinal.at_work()
    run_id = cardinal.run_of(item).run_id
    generation = cardinal.leases[run_id].generation
    dispatch.record_hang(cardinal.services.engine, run_id, generation - 1, 60, now=cardinal.clock())
    assert cardinal.events(RunHung) == []
    dispatch.record_hang(cardinal.services.engine, run_id, generation, 60, now=cardinal.clock())
    assert len(cardinal.events(RunHung)) == 1
    assert cardinal.run(run_id).ending is None
    dispatch.let_go(cardinal.services.engine, run_id, cardinal.leases[run_id], now=cardinal.clock())
    assert cardinal.run(run_id).reason == "hung"
