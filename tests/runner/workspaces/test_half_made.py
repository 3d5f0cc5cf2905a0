"""A sandbox whose making was cut short by a death is ended with its claim; whatever else runs is not."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from ledger.ids import RunId
from runner.run.run_spec import HostPaths
from runner.workspaces.backends.local import BACKEND
from runner.workspaces.bubblewrap import half_made
from tests.hosts.host import lives
from tests.waiting import until

RUN = RunId("r1")


@pytest.fixture
def places(tmp_path: Path) -> HostPaths:
    return HostPaths(*(tmp_path / name for name in ("mirrors", "workspaces", "logs", "scenarios")))


@pytest.fixture
def begun(tmp_path: Path) -> Iterator["Begun"]:
    with ExitStack() as stack:
        yield Begun(tmp_path, stack)


class Begun:
    """Programs that stand where they were started, in a session whose first process may be dead."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack

    def program(self, name: str, where: str, *, then: str) -> psutil.Process:
        program, cwd = self.folder / name, self.folder / where
        if not program.exists():
            shutil.copy("/bin/sleep", program)
        cwd.mkdir(parents=True, exist_ok=True)
        args = ("sh", "-c", f"{program} 1000 & echo $!; {then}")
        shell = self.stack.enter_context(
            subprocess.Popen(args, cwd=cwd, stdout=subprocess.PIPE, start_new_session=True)
        )
        assert shell.stdout
        made = psutil.Process(int(shell.stdout.readline()))
        self.stack.callback(_kill, made)
        until(lambda: psutil.Process(made.pid).name() == name, "it is the program, no shell any more")
        if then == "exit":
            until(lambda: made.ppid() != shell.pid and shell.poll() is not None, "its parent is dead")
        return made


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()


def test_only_a_sandbox_that_its_dead_first_process_has_left_is_killed(
    begun: Begun, places: HostPaths
) -> None:
    left = begun.program("bwrap", "workspaces/PVTI_1", then="exit")
    others = [
        begun.program("bwrap", "workspaces/PVTI_1", then="wait"),
        begun.program("bwrap", "elsewhere", then="exit"),
        begun.program("vim", "workspaces/PVTI_1", then="exit"),
    ]
    BACKEND.end_claim(places, RUN, 1)
    until(lambda: not lives(left), "it is dead")
    assert [it.name() for it in others if lives(it)] == ["bwrap", "bwrap", "vim"]


def test_a_first_process_that_is_just_dying_is_waited_for(begun: Begun, places: HostPaths) -> None:
    second = begun.program("bwrap", "workspaces/PVTI_1", then="sleep 1")
    assert list(half_made(places.workspaces, reaper=os.getpid())) == [second.pid]
