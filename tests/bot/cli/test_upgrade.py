"""`cardinal upgrade`: install, images, ledger; nothing goes on after a step that failed."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.cli.upgrade import UpgradeError, upgrade
from bot.system.lock_file import AlreadyUpError, PartsUpError
from tests.bot.cli.conftest import Cardinal
from tests.bot.system.test_lock_file import hold_elsewhere


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
    # The second time, for a wheel of another commit with the same version.
    assert steps(tmp_path) == ["--upgrade new.whl", "--force-reinstall new.whl", "bot.cli images"]


def test_the_way_back_restores_the_copy_by_the_version_that_made_it(tmp_path: Path) -> None:
    assert steps(tmp_path, "copy.db")[3:] == ["copy.db --overwrite-newer"]


@pytest.mark.parametrize(("fails", "begun"), [("pip", 1), ("images", 3)])
def test_nothing_goes_on_after_a_step_that_failed(tmp_path: Path, fails: str, begun: int) -> None:
    assert len(steps(tmp_path, "copy.db", fails)) == begun


@pytest.mark.parametrize(("how", "error"), [("hold_lock", AlreadyUpError), ("hold_part", PartsUpError)])
def test_nothing_is_installed_under_a_cardinal_that_runs(
    tmp_path: Path, how: str, error: type[Exception]
) -> None:
    with hold_elsewhere(tmp_path, how) as group:
        with pytest.raises(error):
            steps(tmp_path)
        group.kill()


@pytest.mark.parametrize(
    ("words", "started"), [((), ["up"]), (("--start", "work"), ["work"]), (("--start", "nothing"), [])]
)
def test_a_host_starts_again_what_it_ran_before(
    cardinal: Cardinal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    started: list[str],
) -> None:
    (tmp_path / "new.whl").touch()
    begun: list[str] = []
    monkeypatch.setattr(
        subprocess, "run", lambda words, check: subprocess.CompletedProcess(words, int(check))
    )
    monkeypatch.setattr(os, "execv", lambda _program, words: begun.append(words[-1]))
    assert cardinal("upgrade", str(tmp_path / "new.whl"), *words).exit_code == 0
    assert begun == started


def test_a_copy_that_is_not_there_is_refused_before_anything_is_installed(
    cardinal: Cardinal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.whl").touch()
    begun: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda words, check: begun.append((words, check)))
    answer = cardinal("upgrade", str(tmp_path / "old.whl"), "--restore", "nowhere.db")
    assert (answer.exit_code, "nowhere.db is no file" in answer.output, begun) == (2, True, [])
