"""A real Cardinal beside a real forge, and the ways to hurt it: every process by its own pid."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import requests
from sqlalchemy import Engine

from bot.system import lock_file
from forge.demo import launch
from forge.demo.people import Team
from ledger.lifecycle.open import open_ledger
from tests.waiting import until

QUICK = {
    "CARDINAL_TICK_S": "0.2",
    "CARDINAL_SWEEP_S": "1",
    "CARDINAL_LEASE_S": "5",
    "CARDINAL_DEBOUNCE_S": "0.2",
    "CARDINAL_PROGRESS_EVERY_S": "0.5",
}


@dataclass(slots=True)
class Cardinal:
    """One home with its group of processes, which may be killed and started again."""

    root: Path
    team: Team
    url: str
    environment: dict[str, str]
    group: "subprocess.Popen[bytes]"
    engine: Engine

    @property
    def home(self) -> Path:
        """The folder that holds everything that lives."""
        return self.root / "operator" / ".cardinal"

    def parts(self) -> dict[str, int]:
        """Return the pids by the names of the parts; empty while nothing runs."""
        presence = lock_file.read_presence(self.home)
        return dict(presence.parts) if presence else {}

    def pid(self, part: str) -> int:
        """Return the part's pid, waiting for one that is starting again."""
        return until(lambda: self.parts().get(part), f"{part} runs")

    def kill(self, part: str) -> int:
        """Kill the part with -9 and return the pid that it had."""
        pid = self.pid(part)
        os.kill(pid, signal.SIGKILL)
        return pid

    def run_child(self) -> tuple[str, int]:
        """Return the RQ worker that has a run in its hands, and the pid of the run's own process."""

        def child() -> tuple[str, int] | None:
            for part, pid in self.parts().items():
                with contextlib.suppress(psutil.NoSuchProcess):
                    children = psutil.Process(pid).children() if part.startswith("runs-") else []
                    if children:
                        return part, children[0].pid
            return None

        return until(child, "a run has a process")

    def is_up(self) -> bool:
        """Tell whether the web server answers."""
        try:
            return requests.get(f"{self.url}/healthz", timeout=1).ok
        except requests.RequestException:
            return False

    def start_again(self) -> None:
        """Start `cardinal up` in the same home, as the operator would after a crash."""
        with (self.root / "cardinal.log").open("ab") as log:
            self.group = subprocess.Popen(
                [sys.executable, "-m", "bot.cli", "up"],
                cwd=self.root / "operator",
                env=self.environment,
                stdout=log,
                stderr=log,
            )
        until(self.is_up, "cardinal up answers again")

    def faults(self, **wanted: Any) -> None:
        """Let the forge do something wrong."""
        self.team.call("alice", "POST", "/_forge/faults", wanted)

    def holding(self) -> int:
        """Return how many answers the forge holds back now."""
        left = self.team.call("alice", "GET", "/_forge/faults")
        return sum(int(fault["holding"]) for fault in left["api"])

    def end_faults(self) -> None:
        """Let nothing go wrong any more; held answers go out."""
        self.team.call("alice", "DELETE", "/_forge/faults")

    def everyone(self) -> set[int]:
        """Return the pids of all processes of the group."""
        try:
            top = psutil.Process(self.group.pid)
            return {top.pid, *(child.pid for child in top.children(recursive=True))}
        except psutil.NoSuchProcess:
            return set()

    def stop(self) -> None:
        """Stop the group as Ctrl-C does."""
        launch.stop(self.group)


@contextmanager
def running(root: Path, **settings: str) -> Iterator[Cardinal]:
    """Run a forge and Cardinal with quick recovery until the block ends."""
    with launch.running(root, settings={**QUICK, **settings}) as scene:
        engine = open_ledger(f"sqlite:///{scene.home}/.cardinal/data/ledger.db")
        cardinal = Cardinal(root, scene.team, scene.cardinal_url, scene.environment, scene.group, engine)
        try:
            yield cardinal
        finally:
            cardinal.stop()
            engine.dispose()


def living_in(root: Path) -> list[str]:
    """Return the processes that stand in a folder of `root`, see one mounted or were started with one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                told = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                seen = (entry / "mountinfo").read_text() + os.readlink(entry / "cwd") + "/"
                if f"{root}/" in told + seen:
                    found.append(f"{entry.name}: {told[:200]}")
    return found
