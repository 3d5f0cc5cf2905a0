"""A group of processes: it comes up in order, stays up, and goes down without leaving anything behind."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select

import psutil

from bot.daemon import group
from tests.bot.daemon import playground
from tests.waiting import until
from tests.warm import Warm


@contextmanager
def running(folder: Path, *kinds: str, plays: Callable[..., None] = playground.main) -> Iterator[Warm]:
    process = Warm(plays, str(folder), *kinds)
    try:
        yield process
    finally:
        process.kill()
        process.close()


def lines(process: Warm, ending: str) -> list[str]:
    """Return the lines that the group says up to one that has `ending` in it."""
    said: list[str] = []
    for line in process.stdout:
        said.append(line.strip())
        if ending in line:
            return said
    raise AssertionError(f"it ended before saying {ending}: {said}")


def pids(folder: Path, name: str) -> list[int]:
    path = folder / name
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def everyone(folder: Path) -> list[int]:
    return [pid for path in folder.iterdir() for pid in pids(folder, path.name)]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_group_whose_ledger_was_taken_over_ends_with_a_sentence(tmp_path: Path) -> None:
    with running(tmp_path, "live", "live", "lose") as process:
        assert "upgrade it" in lines(process, "down")[-2]
        assert process.wait(60) == 0
    assert not any(alive(pid) for pid in everyone(tmp_path))
    assert len(pids(tmp_path, "lose-2")) == 1


def test_a_stop_ends_children_and_grandchildren_at_once(tmp_path: Path) -> None:
    with running(tmp_path, "live", "live") as process:
        lines(process, "live-1 ready")
        until(lambda: len(everyone(tmp_path)) == 4, "all have started, in any order")
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        lines(process, "down")
        assert time.monotonic() - started < group.STOP_S  # nobody had to be killed
        assert process.wait(60) == 0
    left = everyone(tmp_path)
    assert len(left) == 4
    assert not any(alive(pid) for pid in left)


def test_what_ignores_a_stop_is_killed_after_a_while(tmp_path: Path) -> None:
    with running(tmp_path, "live", "refuse", plays=playground.impatient) as process:
        lines(process, "refuse-1 ready")
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert time.monotonic() - started >= playground.IMPATIENT_S
    assert not any(alive(pid) for pid in pids(tmp_path, "refuse-1"))


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    with running(tmp_path, "live", "refuse") as process:
        lines(process, "refuse-1 ready")
        process.send_signal(signal.SIGINT)
        until(lambda: not select([], [], [], 0.3)[0], "the first stop has arrived")
        process.send_signal(signal.SIGINT)
        assert process.wait(group.STOP_S) == 0  # before it would have been killed


def test_a_killed_child_starts_again_and_its_own_children_are_gone(tmp_path: Path) -> None:
    with running(tmp_path, "live", "live") as process:
        lines(process, "live-1 ready")
        psutil.Process(pids(tmp_path, "live-1")[0]).kill()
        said = lines(process, "live-1 ready")
        assert "live-1 ended status=-9, starts again in 0.2 s" in said
        until(lambda: not alive(pids(tmp_path, "live-1.grandchild")[0]), "the grandchild is gone")
        assert alive(pids(tmp_path, "live-1")[1])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_nothing_outlives_a_group_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, "live", "live", "live") as process:
        lines(process, "live-2 ready")
        names = [f"live-{number}" for number in range(3)]
        until(lambda: all(pids(tmp_path, name) for name in names), "all have started, in any order")
        children = [pids(tmp_path, name)[0] for name in names]
        process.kill()
        process.wait(60)
        until(lambda: not any(alive(pid) for pid in children), "the children are gone")


def test_a_child_that_breaks_is_tried_again_more_and_more_slowly(tmp_path: Path) -> None:
    with running(tmp_path, "live", "break") as process:
        said = lines(process, "again in 0.8 s")
        assert [line for line in said if line.startswith("break-1 ended")] == [
            "break-1 ended status=1, starts again in 0.2 s",
            "break-1 ended status=1, starts again in 0.4 s",
            "break-1 ended status=1, starts again in 0.8 s",
        ]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert any("broken on purpose" in line for line in said)


def test_a_child_that_rests_starts_again_when_it_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path, "ask", "rest") as process:
        until(lambda: len(pids(tmp_path, "rest-1")) == 3, "it was asked for while it ended")
        until(lambda: not any(map(alive, pids(tmp_path, "rest-1"))), "it rests")
        psutil.Process(pids(tmp_path, "ask-0")[0]).send_signal(signal.SIGUSR1)
        until(lambda: len(pids(tmp_path, "rest-1")) == 4, "it was asked for while it rested")
        until(lambda: not any(map(alive, pids(tmp_path, "rest-1"))), "it rests")
        process.send_signal(signal.SIGTERM)
        assert not [line for line in lines(process, "down") if "ended" in line]
        assert process.wait(60) == 0
    assert len(pids(tmp_path, "rest-1")) == 4


def test_a_child_that_is_stopped_is_killed_and_replaced(tmp_path: Path) -> None:
    with running(tmp_path, "beat") as process:
        lines(process, "beat-0 ready")
        stopped = psutil.Process(pids(tmp_path, "beat-0")[0])
        stopped.suspend()
        assert [line for line in lines(process, "beat-0 ready") if "pid" not in line] == [
            f"beat-0 gave no sign of life for {playground.SILENT_S:.0f} s: it is killed",
            "beat-0 ended status=-9, starts again in 0.2 s",
        ]
        assert not alive(stopped.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_after_a_stop_of_all_processes_each_has_its_time_again(tmp_path: Path) -> None:
    with running(tmp_path, "beat") as process:
        lines(process, "beat-0 ready")
        all_of_it = [psutil.Process(pid) for pid in (process.pid, pids(tmp_path, "beat-0")[0])]
        for each in all_of_it:
            each.suspend()
        select([], [], [], 1.3 * playground.SILENT_S)
        for each in reversed(all_of_it):
            each.resume()
        known = len(pids(tmp_path, "beat-0.beats"))
        until(lambda: len(pids(tmp_path, "beat-0.beats")) > known + 5, "it goes on")
        process.send_signal(signal.SIGTERM)
        assert not [line for line in lines(process, "down") if "killed" in line]
        assert process.wait(60) == 0


def test_a_group_that_is_held_up_outside_of_its_wait_kills_nobody(tmp_path: Path) -> None:
    with running(tmp_path, "live", "held") as process:
        lines(process, "held-1 ready")
        until(lambda: len(pids(tmp_path, "held-1.beats")) > 60, "it is held up no longer: 20 a second")
        process.send_signal(signal.SIGTERM)
        assert not [line for line in lines(process, "down") if "killed" in line]
        assert process.wait(60) == 0


def test_others_start_after_what_they_stand_on(tmp_path: Path) -> None:
    with running(tmp_path, "live", "live") as process:
        said = [line.split(" pid=")[0] for line in lines(process, "live-1 ready")]
        assert said == ["live-0 ready", "live-1 ready"]
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_a_child_that_failed_for_a_day_starts_again_in_seconds() -> None:
    waits = [group.restart_wait_s(failures) for failures in (1, 2, 7, 10_000)]
    assert waits == [group.FIRST_WAIT_S, 2 * group.FIRST_WAIT_S, group.MAX_WAIT_S, group.MAX_WAIT_S]
