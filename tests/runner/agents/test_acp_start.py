"""How a program of the Agent Client Protocol is started: its home, its files, the repository's settings."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.workspaces.backends.docker import programs
from tests.runner.world import git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a repository with a setting for the program."""
    repo = tmp_path / "repo"
    (repo / ".tool").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (repo / ".tool/settings").write_text("evil")
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "one")
    return repo


def begin(repo: Path, *argv: str, **setup: Any) -> "subprocess.Popen[str]":
    player = programs(repo.parent / "state", os.getuid(), os.getgid()) / "player"
    usual = {"name": "tool", "repo": str(repo), "home": str(repo.parent / "home")}
    full = {**usual, "files": {}, "clears": {}, "hides": [], "prepare": "", **setup}
    command = (sys.executable, "-E", "-s", "-S", "-B", str(player / "acp_start.py"), json.dumps(full), *argv)
    environment = {"PATH": os.environ["PATH"], "AT": str(repo.parent / "home/.tool/deep/a.json")}
    return subprocess.Popen(
        command, env=environment, stdin=-1, stdout=-1, stderr=-1, text=True, start_new_session=True
    )


def start(repo: Path, *argv: str, **setup: Any) -> tuple[int, str, str]:
    child = begin(repo, *argv, **setup)
    out, errors = child.communicate(timeout=60)
    return child.returncode, out, errors


def test_its_files_are_written_after_what_was_in_their_folders_is_gone(repo: Path) -> None:
    home = repo.parent / "home"
    (home / ".tool").symlink_to(repo)
    say = "import os, pathlib; print(pathlib.Path(os.environ['AT']).read_text())"
    code, out, errors = start(
        repo, sys.executable, "-c", say, files={".tool/deep/a.json": "{}"}, clears={".tool": []}
    )
    assert (code, errors, out) == (0, "", "{}\n")
    assert not (repo / "deep").exists()


def test_of_its_home_only_plain_files_of_sessions_stay(repo: Path) -> None:
    home = repo.parent / "home"
    for name in (".tool/sessions/a.jsonl", ".tool/sessions/b/c.jsonl", ".tool/settings", ".env", "other"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    (home / ".tool/sessions/link.jsonl").symlink_to("/etc/passwd")
    (home / ".tool/folder").symlink_to(repo)
    code, *_ = start(repo, "true", clears={".tool": ["sessions/*.jsonl"], ".env": [], "absent": []})
    assert code == 0
    kept = {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir() or path.is_symlink()}
    assert kept == {".tool/sessions/a.jsonl", "other"}
    assert (repo / ".tool/settings").exists()


def test_a_line_of_shell_prepares_the_home_that_is_left_and_one_that_fails_is_told(repo: Path) -> None:
    files = {".tool/new": "x"}
    assert start(repo, "true", clears={".tool": []}, files=files, prepare="mv .tool/new .tool/newer")[0] == 0
    assert (repo.parent / "home/.tool/newer").read_text() == "x"
    code, _, errors = start(repo, "true", prepare="false")
    assert (code, "non-zero exit status 1" in errors) == (1, True)


def test_a_home_whose_folder_leads_elsewhere_is_not_followed(repo: Path) -> None:
    (repo.parent / "home/.tool").symlink_to(repo)
    assert start(repo, "true", clears={".tool": []})[0] == 0
    assert (repo / ".tool/settings").exists()


def test_it_does_not_start_where_the_repositorys_settings_are_not_hidden(repo: Path) -> None:
    code, out, errors = start(repo, "echo", "started", hides=[".tool"])
    assert (code, out) == (1, "")
    assert ".tool of the repository is not hidden here, and tool would obey it" in errors


def test_what_is_hidden_is_in_no_commit_of_the_program(repo: Path) -> None:
    (repo / ".tool/settings").unlink()  # as the cover shows it
    commit = "git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two"
    assert start(repo, "sh", "-c", f"cd {repo} && {commit}", hides=[".tool"])[0] == 0
    assert git(repo, "show", "HEAD:.tool/settings") == "evil"
    assert git(repo, "ls-files", "-v") == "H .tool/settings"


@pytest.mark.parametrize(("line", "code"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_it_ends_as_its_program_does(repo: Path, line: str, code: int) -> None:
    assert start(repo, "sh", "-c", line)[0] == code


def test_a_program_that_is_not_there_is_named(repo: Path) -> None:
    code, _, errors = start(repo, "no-such-program")
    assert (code, "this image has no program no-such-program" in errors) == (1, True)


def test_it_passes_the_wish_to_end_on(repo: Path) -> None:
    child = begin(repo, "sh", "-c", "trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done")
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    os.kill(child.pid, signal.SIGTERM)
    began = time.monotonic()
    child.communicate(timeout=60)
    assert (child.returncode, time.monotonic() - began < 30) == (5, True)


@pytest.mark.parametrize(
    ("line", "code"), [("exec sleep 60", 0), ("trap 'exit 5' TERM; while :; do sleep 0.05; done", 5)]
)
def test_a_program_that_stays_when_its_input_is_over_is_told_to_go(repo: Path, line: str, code: int) -> None:
    child = begin(repo, "sh", "-c", f"cat; echo over; exec sh -c {shlex.quote(line)}")
    began = time.monotonic()
    out, _ = child.communicate("one\ntwo\n", timeout=60)
    assert (child.returncode, out) == (code, "one\ntwo\nover\n")
    assert time.monotonic() - began < 30
