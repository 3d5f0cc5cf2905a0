"""Locks of a home, held by the process groups that run there, and the record of the pids of `cardinal up`."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.system import program
from ledger.errors import CardinalError
from ledger.lifecycle.in_place import put_in_place


class AlreadyUpError(CardinalError):
    """Another group lives in this home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        super().__init__(
            f"{program.of_home(home)} is already running in {home}: stop it first, or set another "
            "CARDINAL_HOME"
        )


class PartsUpError(CardinalError):
    """A web server or workers live alone in this home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        super().__init__(f"`cardinal serve` or `cardinal work` is running in {home}: stop it first")


class ChangingHomeError(CardinalError):
    """An upgrade or a restore is at work in this home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        super().__init__(f"{home} is being upgraded or restored: try again once that is done")


@dataclass(frozen=True, slots=True)
class Presence:
    """A running group: its own pid, the web server's address, and the pid of each part by name."""

    up: int
    address: str
    parts: Mapping[str, int]


@contextmanager
def hold_lock(home: Path) -> Iterator[None]:
    """Hold the home's lock; raises AlreadyUpError. The kernel lets go of it when this process dies."""
    with _lock(home, "up", fcntl.LOCK_EX, AlreadyUpError):
        try:
            yield
        finally:
            _pids(home).unlink(missing_ok=True)


@contextmanager
def hold_part(home: Path) -> Iterator[None]:
    """Hold the home as a web server or workers alone do, any number of them; raises ChangingHomeError."""
    with _lock(home, "parts", fcntl.LOCK_SH, ChangingHomeError):
        yield


@contextmanager
def hold_alone(home: Path) -> Iterator[None]:
    """Hold the home for a change of its version or ledger; raises AlreadyUpError and PartsUpError."""
    with hold_lock(home), _lock(home, "parts", fcntl.LOCK_EX, PartsUpError):
        yield


@contextmanager
def _lock(home: Path, name: str, how: int, refused: Callable[[Path], CardinalError]) -> Iterator[None]:
    path = home / "run" / f"{name}.lock"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+") as lock:
        try:
            fcntl.lockf(lock, how | fcntl.LOCK_NB)  # not flock: children would hold that one as well
        except OSError as error:
            raise refused(home) from error
        yield


def record_presence(home: Path, presence: Presence) -> None:
    """Write the record, at once and whole."""
    text = json.dumps(
        {"up": presence.up, "address": presence.address, "parts": dict(presence.parts)}, indent=1
    )
    fresh = _pids(home).with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    put_in_place(fresh, _pids(home))


def read_presence(home: Path) -> Presence | None:
    """Return the group that runs in the home; None without one, also when a killed one left its record."""
    try:
        content = json.loads(_pids(home).read_text(encoding="utf-8"))
        presence = Presence(int(content["up"]), str(content["address"]), dict(content["parts"]))
        os.kill(presence.up, 0)
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # or the pid is somebody else's now
        return None
    except (ValueError, KeyError, TypeError):  # torn when the machine went down
        return None
    return presence


def _pids(home: Path) -> Path:
    return home / "run" / "pids.json"
