"""One group of processes per home, and who asks learns which."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.system import lock_file
from bot.system.lock_file import AlreadyUpError, ChangingHomeError, PartsUpError, Presence

HOLD = """
import sys
from pathlib import Path
from bot.system import lock_file
with getattr(lock_file, sys.argv[2])(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold_elsewhere(home: Path, how: str = "hold_lock") -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def test_parts_live_beside_each_other_and_beside_all_and_no_change_begins_under_them(tmp_path: Path) -> None:
    with (
        hold_elsewhere(tmp_path, "hold_part") as part,
        lock_file.hold_lock(tmp_path),
        lock_file.hold_part(tmp_path),
    ):
        part.kill()
    with hold_elsewhere(tmp_path, "hold_part") as part:
        with pytest.raises(PartsUpError, match="stop it first"), lock_file.hold_alone(tmp_path):
            raise AssertionError("changed under a part")
        part.kill()
        part.wait(60)
        with lock_file.hold_alone(tmp_path):
            pass


def test_nothing_starts_while_a_home_is_changed(tmp_path: Path) -> None:
    with hold_elsewhere(tmp_path, "hold_alone") as change:
        for hold, error in ((lock_file.hold_lock, AlreadyUpError), (lock_file.hold_part, ChangingHomeError)):
            with pytest.raises(error), hold(tmp_path):
                raise AssertionError("started meanwhile")
        change.kill()


def test_what_runs_is_told_and_forgotten_at_the_end(tmp_path: Path) -> None:
    presence = Presence(os.getpid(), "http://127.0.0.1:8484", {"web": 1})
    with lock_file.hold_lock(tmp_path):
        lock_file.record_presence(tmp_path, presence)
        assert lock_file.read_presence(tmp_path) == presence
    assert lock_file.read_presence(tmp_path) is None


def test_the_record_of_a_killed_group_counts_for_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as dead:
        dead.wait(60)
    (tmp_path / "run").mkdir()
    lock_file.record_presence(tmp_path, Presence(dead.pid, "http://127.0.0.1:1", {}))
    assert lock_file.read_presence(tmp_path) is None
