"""One group of processes per home, and who asks learns which."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.system import lock_file
from bot.system.lock_file import AlreadyUpError, Presence

HOLD = """
import sys
from pathlib import Path
from bot.system import lock_file
with lock_file.hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold_elsewhere(home: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_group_in_the_same_home_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    with hold_elsewhere(tmp_path) as first:
        with pytest.raises(AlreadyUpError, match="another CARDINAL_HOME"), lock_file.hold_lock(tmp_path):
            raise AssertionError("held twice")
        first.kill()
        first.wait(60)
        with lock_file.hold_lock(tmp_path):
            pass


def test_what_runs_is_told_and_forgotten_at_the_end(tmp_path: Path) -> None:
    here = Presence(os.getpid(), "http://127.0.0.1:8484", {"web": 1})
    with lock_file.hold_lock(tmp_path):
        lock_file.record_presence(tmp_path, here)
        assert lock_file.read_presence(tmp_path) == here
    assert lock_file.read_presence(tmp_path) is None


def test_the_record_of_a_killed_group_counts_for_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as dead:
        dead.wait(60)
    (tmp_path / "run").mkdir()
    lock_file.record_presence(tmp_path, Presence(dead.pid, "http://127.0.0.1:1", {}))
    assert lock_file.read_presence(tmp_path) is None
