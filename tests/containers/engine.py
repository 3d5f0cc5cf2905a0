"""The engine that the tests use, and a second look at it that does not go through the code they test."""

import contextlib
import functools
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import docker
from ledger.ids import CardId, RunId
from ledger.model.policy_settings import Resources
from runner.exec.child import Child, Ran, finish
from runner.run.run_spec import HostPaths
from runner.workspaces.backends.docker import Docker, home_of
from runner.workspaces.contract import CleanWorkspace, Tenancy, Workspace
from runner.workspaces.docker.container import problem_with
from runner.workspaces.docker.engine import engine_address

SMALL = Resources(memory_mb=256, cpus=1.0, processes=64, disk_mb=64, open_files=256)
_STARTED: list[Child] = []
CARD, RUN = CardId("PVTI_1"), RunId("r1")


def need_engine() -> str:
    """Return the engine's address; without one the test is skipped, which CI counts as a failure."""
    problem = _problem(engine_address())
    if problem:
        pytest.skip(f"needs a Docker engine: run `scripts/engine pytest …`. {problem}")
    return engine_address()


@functools.cache
def _problem(address: str) -> str:
    return problem_with(address)


def places_in(folder: Path) -> HostPaths:
    """Return the runner's places in a folder of the test."""
    return HostPaths(*(folder / name for name in ("mirrors", "workspaces", "logs", "scenarios")))


@dataclass(slots=True)
class Bench:
    """One state folder, what is opened in it, and what its engine holds of it."""

    places: HostPaths
    api: docker.APIClient
    backend: Docker = field(default_factory=Docker)

    def open(self, card: str = CARD, run: str = RUN, generation: int = 1, **more: Any) -> Workspace:
        """Open a workspace with small limits."""
        tenancy = Tenancy(CardId(card), RunId(run), generation, **{"resources": SMALL} | more)
        return self.backend.open(self.places, tenancy)

    def open_clean(self, card: str = CARD, run: str = RUN, **more: Any) -> CleanWorkspace:
        """Open a clean place with small limits."""
        tenancy = Tenancy(CardId(card), RunId(run), 1, **{"resources": SMALL} | more)
        return self.backend.open_clean(self.places, tenancy)

    def sweep(self, alive: Callable[[RunId, int], bool], places: HostPaths | None = None) -> list[str]:
        """Remove what is left over, and say what that was."""
        leftovers = list(self.backend.leftovers(places or self.places, alive))
        for leftover in leftovers:
            leftover.remove()
        return [leftover.what for leftover in leftovers]

    def containers(self) -> list[dict[str, Any]]:
        """Return what the engine knows of this state folder's containers, running or not."""
        label = f"cardinal.home={home_of(self.places.workspaces)}"
        found: list[dict[str, Any]] = self.api.containers(all=True, filters={"label": [label]})
        return found

    def images(self) -> list[str]:
        """Return the names of the set-ups that are kept for this state folder."""
        label = f"cardinal.home={home_of(self.places.workspaces)}"
        found = self.api.images(filters={"label": [label]})
        return [(one["RepoTags"] or [one["Id"]])[0].replace("<none>:<none>", one["Id"]) for one in found]

    def clear(self) -> None:
        """Remove all that a test left on the engine, and close what it started."""
        while _STARTED:
            _STARTED.pop().close()
        for container in self.containers():
            self.api.remove_container(container["Id"], force=True, v=True)
        for name in self.images():
            self.api.remove_image(name, force=True)


def start(workspace: Workspace, *argv: str, **how: Any) -> Child:
    """Start a command, writable and with little output unless it is said otherwise.

    The bench closes it, should the test not get that far.
    """
    usual: dict[str, Any] = {"env": {}, "writable": True, "cap_bytes": 1_000_000}
    child = workspace.start(argv, **usual | how)
    _STARTED.append(child)
    return child


def sh(workspace: Workspace, line: str, **how: Any) -> Ran:
    """Run a shell line to its end."""
    return finish(start(workspace, "/bin/sh", "-c", line, **how), what=line, timeout_s=60, beat=lambda: None)


def hear_until(child: Child, wanted: str, limit_s: float = 60) -> str:
    """Return what the child said up to the wanted word."""
    heard, until = "", time.monotonic() + limit_s
    while wanted not in heard:
        assert time.monotonic() < until, f"{wanted!r} did not come, only {heard!r}"
        heard += "\n".join(getattr(one, "text", f"<{one}>") for one in child.hear(0.2))
    return heard


def git(folder: Path, *words: str) -> str:
    """Run git on the host as a person would, whoever owns the folder."""
    command = ("git", "-c", "safe.directory=*", "-c", "user.name=A", "-c", "user.email=a@example.org", *words)
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


class Relay:
    """A second door to the engine, or to a port of this machine; it can be shut at any moment."""

    def __init__(self, door: str, engine: str | tuple[str, int]) -> None:
        self._engine, self._open = engine, [socket.socket(socket.AF_UNIX)]
        self._open[0].bind(door)
        self._open[0].listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def stop(self) -> None:
        """Shut the door and every connection through it."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=60)
        for one in self._open:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._open[0].accept()
                far = socket.socket(socket.AF_UNIX if isinstance(self._engine, str) else socket.AF_INET)
                far.connect(self._engine)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._pass_on, args=(one, other)))
                    self._threads[-1].start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
