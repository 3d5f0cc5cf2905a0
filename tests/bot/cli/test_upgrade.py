"""`cardinal upgrade`: install, images, ledger; nothing goes on after a step that failed."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.upgrade import UpgradeError, upgrade
from bot.system import lock_file

HOLDER = """
import sys
from pathlib import Path
from bot.system import lock_file
with lock_file.hold_lock(Path(sys.argv[1])):
    print(flush=True)
    input()
"""


def steps(home: Path, copy: str | None = None, fails: str = "") -> list[str]:
    """Return the last two words of every command of an upgrade, until `fails` is among them."""
    seen: list[str] = []

    def run(words: tuple[str, ...]) -> int:
        seen.append(" ".join(words[-2:]))
        return int(fails in words)

    try:
        upgrade(home, "new.whl", copy, run)
    except UpgradeError:
        assert fails
    return seen


def test_an_upgrade_installs_and_then_makes_the_images_of_the_new_version(tmp_path: Path) -> None:
    assert steps(tmp_path) == ["--upgrade new.whl", "bot.cli images"]


def test_the_way_back_restores_the_copy_by_the_version_that_made_it(tmp_path: Path) -> None:
    assert steps(tmp_path, "copy.db")[2:] == ["copy.db --overwrite-newer"]


@pytest.mark.parametrize(("fails", "begun"), [("pip", 1), ("images", 2)])
def test_nothing_goes_on_after_a_step_that_failed(tmp_path: Path, fails: str, begun: int) -> None:
    assert len(steps(tmp_path, "copy.db", fails)) == begun


def test_nothing_is_installed_under_a_cardinal_that_runs(tmp_path: Path) -> None:
    words = (sys.executable, "-c", HOLDER, str(tmp_path))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as group:
        assert group.stdout is not None
        assert group.stdout.readline()
        with pytest.raises(lock_file.AlreadyUpError):
            steps(tmp_path)
        group.communicate(b"\n", timeout=60)
