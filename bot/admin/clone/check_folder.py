"""Folder of one check; the next check removes the remains of a killed one, containers too."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner import workspaces
from runner.run.run_spec import HostPaths

PREFIX, LOCK = "cardinal-check.", "lock"


def places_of(root: Path) -> HostPaths:
    """Return the runner's places in the folder."""
    return HostPaths(*(root / each for each in ("mirrors", "workspaces", "logs", "scenarios")))


@contextmanager
def check_folder() -> Iterator[Path]:
    """Give a folder that is gone after the block; those of killed processes go first."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # its own process, or another one's next check, was faster
            _remove_left(left)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, (Path(name) / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _remove_left(root: Path) -> None:
    """Remove the folder unless it is somebody else's, or its process lives and so holds the lock."""
    known = root.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
        return
    with (root / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for name in workspaces.names():
            for leftover in workspaces.load(name).leftovers(places_of(root), lambda _run, _generation: False):
                leftover.remove()
        shutil.rmtree(root, ignore_errors=True)
