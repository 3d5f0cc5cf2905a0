"""A place that is made anew keeps plain files of the session, whatever an agent put around and under them."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.ids import CardId
from runner.agents.adapters.claude import AGENT
from runner.workspaces import card_folder
from runner.workspaces.card_folder import Folder

SESSION = "0a1b"
PATTERNS = AGENT.session_files(SESSION)


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "card", CardId("C1"), os.geteuid(), os.getegid())
    folder.mark_ready()
    return folder


def left(place: Folder) -> dict[str, str]:
    """Return the files of the home with their texts."""
    home = place.root / "home"
    return {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_only_the_files_of_the_session_stay(place: Folder) -> None:
    home = place.root / "home"
    write(home / f"claude/projects/repo/{SESSION}.jsonl", "lines")
    write(home / f"claude/projects/repo/{SESSION}/sub/a.jsonl", "more")
    for name in (
        *(".npmrc", "bin/python3", "usercustomize.py", ".cache/locked/x", "claude/settings.json"),
        *("claude/projects/repo/other.jsonl", "claude/projects/.gitconfig", f"{SESSION}.jsonl"),
    ):
        write(home / name)
    (home / "claude/projects/repo").chmod(0)
    (home / ".cache/locked").chmod(0)
    write(place.repo / "file")
    place.clear(PATTERNS)
    assert left(place) == {
        f"claude/projects/repo/{SESSION}.jsonl": "lines",
        f"claude/projects/repo/{SESSION}/sub/a.jsonl": "more",
    }
    assert list(place.repo.iterdir()) == []
    assert place.fresh
    assert sorted(path.name for path in place.root.iterdir()) == ["card", "home", "out", "repo", "skills"]
    place.clear()
    assert left(place) == {}


def test_no_link_on_the_way_is_followed_and_only_plain_files_stay(place: Folder, tmp_path: Path) -> None:
    home, outside = place.root / "home", tmp_path / "outside"
    secret = write(outside / f"repo/{SESSION}.jsonl", "secret")
    (home / "claude").mkdir()
    (home / "claude/projects").symlink_to(outside)
    place.clear(PATTERNS)
    assert left(place) == {}
    assert secret.read_text() == "secret"
    folder = home / "claude/projects/repo"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").symlink_to(secret)
    (folder / SESSION).symlink_to(outside)
    os.mkfifo(write(home / f"claude/projects/b/{SESSION}.txt").with_suffix(".jsonl"))
    (home / f"claude/projects/c/{SESSION}.jsonl").mkdir(parents=True)
    place.clear(PATTERNS)
    assert list((place.root / "home").rglob("*.jsonl")) == []
    assert secret.read_text() == "secret"


def test_a_session_is_no_program_and_no_more_files_than_a_session_has(
    place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_folder, "MAX_FILES", 5)
    home = place.root / "home"
    for number in range(9):
        write(home / f"claude/projects/{number}/{SESSION}.jsonl").chmod(0o4777)
    place.clear(PATTERNS)
    files = [path for path in (place.root / "home").rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_clearing_that_was_cut_short_is_done_to_the_end(place: Folder) -> None:
    write(place.root / "home.old" / ".npmrc")
    write(place.root / "home" / "x")
    place.clear(PATTERNS)
    assert left(place) == {}
    assert not (place.root / "home.old").exists()


@pytest.fixture
def shallow() -> Iterator[int]:
    """Let Python recurse less deep, for `rm` takes seconds over a thousand folders."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    yield 250
    sys.setrecursionlimit(usual)


def test_folders_that_are_nested_deeper_than_python_recurses_are_removed(place: Folder, shallow: int) -> None:
    folder = os.open(place.repo, os.O_RDONLY)
    for _ in range(shallow):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    before = len(os.listdir("/proc/self/fd"))
    place.destroy()
    assert not place.root.exists()
    assert len(os.listdir("/proc/self/fd")) == before
