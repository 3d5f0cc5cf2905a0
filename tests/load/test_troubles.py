"""A worker dies while its container runs, the engine goes away, a run parks: what is left then, and for how
long.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ledger.events.run import Progressed, RunClaimed, RunEnded, RunParked
from ledger.ids import RunId
from ledger.states import Ending
from tests.chaos.cardinal import Cardinal
from tests.containers.engine import Relay, need_engine
from tests.load.crowd import Sight, crowded, events, new_cards, say_figures
from tests.waiting import until

pytestmark = pytest.mark.timeout(1200)
AWAY_S = 20
GONE_S = 60.0  # a tick, the half of a lease for doubts, and the sweep that follows; with room to spare
TIDIED_S = 180.0  # a look a minute
RUN_S = 300.0
MB = 1 << 20
PARKED_MB = 24.0
Issue = tuple[str, int]


@pytest.fixture
def door() -> Iterator[Path]:
    """Return the path of a socket, short enough to be one."""
    folder = Path(tempfile.mkdtemp(prefix="cd-", dir="/tmp"))
    yield folder / "docker.sock"
    shutil.rmtree(folder)


@pytest.fixture
def cardinal(tmp_path: Path) -> Iterator[Cardinal]:
    need_engine()
    tmp_path.chmod(0o755)
    with crowded(tmp_path) as new_cardinal:
        yield new_cardinal


@contextmanager
def seeing(cardinal: Cardinal) -> Iterator[Sight]:
    sight = Sight(cardinal)
    try:
        yield sight
    finally:
        cardinal.stop()  # first: what still works would make new ones
        sight.close()


def drag(cardinal: Cardinal, title: str) -> Issue:
    (issue,) = new_cards(cardinal, [title])
    cardinal.team.drag("alice", issue[1], "In Progress", issue[0])
    return issue


def rests(cardinal: Cardinal) -> RunId:
    """Return the run whose agent has just begun to sleep."""
    told = until(lambda: _resting(cardinal), "the agent works", RUN_S)
    return told[-1].run_id


def _resting(cardinal: Cardinal) -> list[Progressed]:
    return [one for one in events(cardinal.engine, Progressed) if "resting" in one.text]


def ended(cardinal: Cardinal, times: int = 1) -> RunEnded:
    """Return the ending with that number, waiting for it."""
    found = until(lambda: events(cardinal.engine, RunEnded)[times - 1 :], f"{times} endings", RUN_S, 0.2)
    event: RunEnded = found[0]
    return event


@pytest.mark.soak(
    instead="tests/contracts/test_faults.py::test_a_worker_that_is_killed_loses_nothing_and_the_session_goes_on"
)
def test_the_container_of_a_killed_worker_goes_and_its_run_is_finished_by_another(
    cardinal: Cardinal,
) -> None:
    with seeing(cardinal) as sight:
        drag(cardinal, "Slow card")
        run_id = rests(cardinal)
        (container,) = until(lambda: sight.containers(run_id), "its container")
        part, pid = cardinal.run_child()
        os.kill(pid, signal.SIGKILL)
        cardinal.kill(part)
        killed = time.monotonic()
        until(lambda: container not in sight.containers(run_id), "the container is gone", GONE_S)
        gone_s = time.monotonic() - killed
        assert ended(cardinal).ending is Ending.SUCCEEDED
        assert len(events(cardinal.engine, RunClaimed)) == 2
        until(lambda: not sight.containers(), "nothing runs any more", GONE_S)
        say_figures("worker killed", container_gone_s=round(gone_s, 2))


@pytest.mark.soak(
    instead="tests/containers/test_engine_troubles.py::test_an_engine_that_goes_away_meanwhile_is_named"
)
def test_runs_end_with_a_named_reason_while_the_engine_is_away_and_can_be_retried(
    tmp_path: Path, door: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = need_engine()
    tmp_path.chmod(0o755)
    engine = address.removeprefix("unix://")
    with monkeypatch.context() as inside:
        inside.setenv(
            "DOCKER_HOST", f"unix://{door}"
        )  # of Cardinal alone: the test looks at the engine itself
        relay = Relay(str(door), engine)
        stack = crowded(tmp_path)
        cardinal = stack.__enter__()
    try:
        with seeing(cardinal) as sight:
            drag(cardinal, "Slow card")
            rests(cardinal)
            relay.stop()
            away = time.monotonic()
            while_at_work = ended(cardinal)
            ended_s = round(time.monotonic() - away, 1)
            second = drag(cardinal, "Another card")
            at_its_start = ended(cardinal, 2)
            for event in (while_at_work, at_its_start):
                assert event.ending is Ending.FAILED
                assert "does not answer" in event.detail
                assert "then retry" in event.detail
            until(lambda: time.monotonic() - away > AWAY_S, "it was away for long", AWAY_S + 1, 0.2)
            door.unlink()
            relay = Relay(str(door), engine)
            cardinal.team.say("alice", second[1], "/cardinal retry", second[0])
            assert ended(cardinal, 3).ending is Ending.SUCCEEDED
            until(lambda: not sight.containers(), "the sweep took what was left", TIDIED_S)
            say_figures("engine away", seconds=AWAY_S, ended_s=ended_s)
    finally:
        stack.__exit__(None, None, None)
        relay.stop()


@pytest.mark.soak(
    instead="tests/contracts/test_money.py::test_a_question_parks_the_answer_goes_on_in_the_session_and_all_of_it_is_counted"
)
def test_a_parked_run_holds_no_process_no_container_and_no_memory(cardinal: Cardinal) -> None:
    with seeing(cardinal) as sight:
        drag(cardinal, "Warm card")  # what a first run costs once is not the parked one's
        assert ended(cardinal).ending is Ending.SUCCEEDED
        until(lambda: _settled(cardinal), "all is quiet", every_s=0.5)
        processes, before = len(cardinal.everyone()), _pss_mb(cardinal)
        drag(cardinal, "Asking card")
        until(lambda: events(cardinal.engine, RunParked), "it parks", RUN_S)
        until(lambda: len(cardinal.everyone()) == processes, "its processes end", every_s=0.2)
        assert sight.containers() == []
        until(lambda: _settled(cardinal), "all is quiet", every_s=0.5)
        after = _pss_mb(cardinal)
        assert [path.name for path in (cardinal.home / "gateways").glob("*")] == []
        assert after - before < PARKED_MB
        say_figures("one parked run", processes=0, group_mb_before=before, group_mb_after=after)


def _settled(cardinal: Cardinal) -> bool:
    return not any(psutil.Process(pid).children() for pid in _workers(cardinal))


def _workers(cardinal: Cardinal) -> list[int]:
    return [pid for part, pid in cardinal.parts().items() if part not in ("web-1", "redis")]


def _pss_mb(cardinal: Cardinal) -> float:
    sizes = [psutil.Process(pid).memory_full_info().pss for pid in cardinal.everyone()]
    return round(sum(sizes) / MB, 1)
