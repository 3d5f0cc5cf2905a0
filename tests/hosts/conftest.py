"""What the tests of several hosts need of the machine, and the start of a play in namespaces of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forge.demo.launch import own_environment
from tests.conftest import TESTS

_PROGRAMS = ("ip", "nsenter", "unshare", "setpriv", "bwrap")
# Interfaces, mounts and processes of the play are in its namespaces alone: when its first process dies, which
# it does with this one, nothing is left of them.
_ALONE = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child")
_SCRIPT = 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && mount -t tmpfs none /mnt && exec "$@"'


@pytest.fixture
def play(tmp_path: Path) -> "Play":
    """Return what plays a play of this suite; skipped where the machine has no namespaces for it."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0 or missing or not any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        needs = ", ".join(missing) or "PostgreSQL's server"
        pytest.skip(f"needs root, and {needs}: run scripts/services as root")
    return Play(tmp_path)


class Play:
    """Plays in processes of its own; the folder keeps every host's log, and the ledger's events."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, limit_s: float, **environment: str) -> str:
        """Play it and return what it printed; raises AssertionError with that unless it ended well."""
        command = (
            *_ALONE,
            "--mount-proc",
            "sh",
            "-c",
            _SCRIPT,
            "sh",
            sys.executable,
            "-m",
            "tests.hosts",
            name,
        )
        done = subprocess.run(
            (*command, str(self.folder)),
            cwd=TESTS.parent,
            env={**own_environment(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-6000:]}\nlogs and events are in {self.folder}"
        return done.stdout
