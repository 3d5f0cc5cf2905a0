"""The home does not show in the repository that it lies in."""

import subprocess
from pathlib import Path

from bot.system.git_exclude import hide


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_home_in_a_repository_is_not_seen_by_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "tools" / ".cardinal"
    home.mkdir(parents=True)
    (home / "ledger.db").write_text("x")
    assert git(tmp_path, "status", "--porcelain") != ""
    hide(home)
    assert git(tmp_path, "status", "--porcelain") == ""


def test_hiding_twice_writes_one_line_and_keeps_what_was_there(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    exclude = tmp_path / ".git" / "info" / "exclude"
    exclude.write_text("*.secret")
    assert hide(tmp_path / ".cardinal") == exclude
    assert hide(tmp_path / ".cardinal") == exclude
    assert exclude.read_text() == "*.secret\n/.cardinal/\n"


def test_outside_of_a_repository_nothing_is_written(tmp_path: Path) -> None:
    assert hide(tmp_path / ".cardinal") is None
    assert list(tmp_path.iterdir()) == []
