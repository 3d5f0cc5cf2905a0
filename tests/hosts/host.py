"""A host of a site: a network, processes and a home of its own; it can lose its power and stand still."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.hosts import network
from tests.waiting import until

GONE_S = 60.0
COMMAND_S = 120
PLAYER = "/player.py"
# As a service manager would. The shell is the first process of its namespace: with it, everything on the host
# dies at once.
_RUN = 'hostname "$0"; while :; do "$1" -P -m bot.cli "$2"; sleep 1; done'


class Living:
    """A program of the site that is stopped and goes on, with all that it started."""

    def processes(self) -> list[psutil.Process]:
        """Return its processes that live."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stop all processes; those that are born meanwhile, too."""
        stopped = set[int]()
        while fresh := {process.pid for process in self.processes()} - stopped:
            for pid in fresh:
                _signal(pid, signal.SIGSTOP)
            stopped |= fresh

    def resume(self) -> None:
        """Let all of them go on."""
        for process in self.processes():
            _signal(process.pid, signal.SIGCONT)


@dataclass(slots=True)
class Host(Living):
    """One host, on which `cardinal COMMAND` runs."""

    name: str
    number: int
    root: Path
    environment: Mapping[str, str]
    command: str = "work"
    _group: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def home(self) -> Path:
        """Its home."""
        return self.root / self.name / ".cardinal"

    def start(self) -> None:
        """Switch it on, unless it is."""
        if self._group is not None:
            return
        args = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts")
        arguments = (self.name, sys.executable, self.command)
        with (self.root / f"{self.name}.log").open("ab") as log:
            self._group = subprocess.Popen(
                (*network.inside(self.name), *args, "sh", "-c", _RUN, *arguments),
                cwd=self.home.parent,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def cardinal(self, *words: str) -> bytes:
        """Run `cardinal` with these words there, and return what it printed."""
        line = (*network.inside(self.name), sys.executable, "-P", "-m", "bot.cli", *words)
        done = subprocess.run(
            line,
            cwd=self.home.parent,
            env=self.environment,
            capture_output=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, f"cardinal {words[0]} on {self.name}: {done.stderr.decode()}"
        return done.stdout

    def kill(self) -> None:
        """Switch its power off."""
        if self._group is None:
            return
        everyone = self.processes()
        self._group.kill()
        self._group.wait(GONE_S)
        self._group = None
        until(lambda: not any(map(lives, everyone)), f"the end of all processes of {self.name}")

    def processes(self) -> list[psutil.Process]:
        """Return its processes that live; orphans are children of its first one."""
        return descendants(self._group.pid) if self._group else []

    def agents(self) -> list[psutil.Process]:
        """Return the agents at work there; one that is stopped does nothing."""
        return [process for process in self.processes() if _is_agent(process)]


def descendants(pid: int) -> list[psutil.Process]:
    """Return the living descendants of a process."""
    try:
        return [one for one in psutil.Process(pid).children(recursive=True) if lives(one)]
    except psutil.NoSuchProcess:
        return []


def lives(process: psutil.Process) -> bool:
    """Tell whether it is there and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is_agent(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        # Not the sandbox around it, whose words are the same and more.
        return any(PLAYER in word for word in words[:5]) and process.status() != psutil.STATUS_STOPPED
    return False


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
