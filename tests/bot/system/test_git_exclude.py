"""The home does not show in the repository that it lies in."""

import subprocess
from pathlib import Path

import pytest

from bot.system.git_exclude import hide

ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, *ANN, "commit", "-q", "--allow-empty", "-m", "Begin")
    home = tmp_path / "tools" / ".cardinal"
    home.mkdir(parents=True)
    (home / "ledger.db").write_text("x")
    return home


def test_a_home_survives_a_clean_up_of_the_repository_and_shows_in_neither(
    home: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        hide(home)
    (tmp_path / "build").mkdir()
    for args in (("clean", "-fdx"), ("clean", "-fdX"), ("stash", "--all")):
        git(tmp_path, *ANN, *args)
    assert not (tmp_path / "build").exists()
    assert (home / "ledger.db").read_text() == "x"
    assert [git(folder, "status", "--porcelain") for folder in (tmp_path, home)] == ["", ""]
    git(tmp_path, "add", "--all")


def test_a_home_that_the_repository_shows_does_not_hinder_git_add(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!.*\n")
    hide(home)
    git(tmp_path, "add", "--all")
    assert not (home / ".git").exists()
