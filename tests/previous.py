"""The release before, whose code tests play: before this version, and beside it."""

import subprocess

from tests.conftest import TESTS

PREVIOUS = "9360621b"


def archive_of_previous() -> bytes:
    """Return its files as a tar archive."""
    args = ("git", "archive", require_previous())
    return subprocess.run(args, cwd=TESTS.parent, stdout=subprocess.PIPE, check=True, timeout=60).stdout


def require_previous() -> str:
    """Return its commit; raises AssertionError in a clone that has not got it."""
    args = ("git", "cat-file", "-e", PREVIOUS)
    known = subprocess.run(args, cwd=TESTS.parent, capture_output=True, check=False, timeout=60)
    assert known.returncode == 0, f"this clone has no commit {PREVIOUS}: git fetch --unshallow"
    return PREVIOUS
