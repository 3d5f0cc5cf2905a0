"""Hooks put in and taken out in every shape of a repository: nothing of a person's is changed or lost."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.admin.clone import hooks
from bot.admin.clone.hooks import MARK, PRE_COMMIT, HookState
from bot.admin.clone.own_git import CloneError
from tests.bot.admin.clone.conftest import commit
from tests.bot.admin.clone.shapes import (
    THEIRS,
    bare,
    detached,
    files,
    half_staged,
    history,
    husky,
    many_refs,
    no_commit,
    put,
    shallow,
    shared_link,
    subfolder,
    submodule,
    with_hooks,
    without_hooks_folder,
    worktree,
)
from tests.runner.world import git


def output(*command: str, folder: Path) -> str:
    """Return both outputs of a command that succeeds, with nothing to read."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=True,
    )
    return done.stdout.decode()


SHAPES = (
    lambda clone: history(clone, 5),
    worktree,
    submodule,
    shallow,
    detached,
    subfolder,
    with_hooks,
    without_hooks_folder,
    husky,
    shared_link,
    half_staged,
    many_refs,
    bare,
    no_commit,
)


@pytest.mark.parametrize("shape", SHAPES)
def test_installing_and_taking_out_changes_no_byte(
    clone: Path, tmp_path: Path, shape: Callable[[Path], Path]
) -> None:
    folder = shape(clone)
    before = files(tmp_path)
    for _ in range(2):
        hooks.install_hooks(folder, os.environ)
    added = files(tmp_path)
    changed = {name for name in before if added[name] != before[name]}
    theirs = {"shop/.git/hooks/pre-push", "shop/.git/hooks/post-merge"}
    assert changed == (theirs if shape is with_hooks else set())
    assert all("hooks/" in name for name in added.keys() - before.keys())
    hooks.uninstall_hooks(folder, os.environ)
    assert files(tmp_path) == before


def test_a_folder_shared_by_all_repositories_is_not_written_into(clone: Path, tmp_path: Path) -> None:
    put(tmp_path / "home/.config/git/config", f"[core]\n\thooksPath = {tmp_path}/shared\n")
    put(tmp_path / "home/.gitconfig", "[user]\n\tname = A\n")
    (tmp_path / "shared").mkdir()
    bare(clone)
    for folder, name in ((clone, "pre-push"), (tmp_path / "other.git", "pre-receive")):
        places = hooks.install_hooks(folder, {"HOME": str(tmp_path / "home")})
        assert {hook.state for hook in places} == {HookState.NONE}
        assert name in [hook.name for hook in places]
        assert not list((tmp_path / "shared").iterdir())


@pytest.mark.parametrize("settings", ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"])
def test_the_persons_settings_are_where_git_reads_them(clone: Path, tmp_path: Path, settings: str) -> None:
    file = put(tmp_path / "own/git/config", f"[core]\n\thooksPath = {tmp_path}/shared\n")
    environ = {settings: str(file if settings == "GIT_CONFIG_GLOBAL" else tmp_path / "own")}
    assert hooks.places(clone, environ)[0].manager == tmp_path / "shared/prepare-commit-msg"
    git(clone, "config", "core.hooksPath", ".git/hooks")
    assert hooks.places(clone, environ)[0].manager is None


def test_the_line_for_another_tool_does_nothing_where_the_hooks_are_out(clone: Path) -> None:
    husky(clone)
    line = next(hook.line for hook in hooks.install_hooks(clone, os.environ) if hook.name == "pre-push")
    tool = put(clone / "tool", f"set -e\n{line}\necho went on\n")
    hooks.uninstall_hooks(clone, os.environ)
    assert output("sh", str(tool), folder=clone) == "went on\n"


def test_hooks_that_git_no_longer_calls_are_taken_out_too(clone: Path) -> None:
    before = files(clone / ".git/hooks")
    hooks.install_hooks(clone, os.environ)
    husky(clone)
    hooks.uninstall_hooks(clone, os.environ)
    assert files(clone / ".git/hooks") == before


def test_a_hook_that_came_later_is_never_lost(clone: Path) -> None:
    with_hooks(clone)
    hooks.install_hooks(clone, os.environ)
    put(clone / ".git/hooks/pre-push", "later")
    with pytest.raises(CloneError, match="keep one of them"):
        hooks.install_hooks(clone, os.environ)
    hooks.uninstall_hooks(clone, os.environ)
    assert (clone / ".git/hooks/pre-push").read_text() == "later"
    assert (clone / ".git/hooks/pre-push.before-cardinal").read_text() == THEIRS


def test_a_framework_that_calls_ours_is_not_called_by_it(clone: Path) -> None:
    with_hooks(clone)
    hooks.install_hooks(clone, os.environ)
    ours = clone / ".git/hooks/pre-push"
    legacy = ours.rename(ours.with_name("pre-push.legacy"))
    put(ours, '#!/bin/sh\n"$0.legacy" "$@"\n')
    assert next(hook.path for hook in hooks.install_hooks(clone, os.environ) if hook.chained) == legacy
    assert MARK not in ours.read_text()
    assert output(".git/hooks/pre-push", "origin", "there", folder=clone) == "there before\n"
    theirs = put(legacy.with_name("pre-push.before-cardinal"), f"#!/bin/sh\n{PRE_COMMIT}\nexit 3\n")
    assert output(".git/hooks/pre-push", "origin", "there", folder=clone) == ""
    hooks.install_hooks(clone, os.environ)
    assert not theirs.exists()
    put(theirs, THEIRS)
    hooks.uninstall_hooks(clone, os.environ)
    assert legacy.read_text() == THEIRS


@pytest.mark.parametrize(("owner", "moment"), [(os, "link"), (Path, "replace")])
def test_a_kill_at_any_moment_leaves_their_hook_in_place_and_is_mended(
    clone: Path, monkeypatch: pytest.MonkeyPatch, owner: object, moment: str
) -> None:
    with_hooks(clone)
    before = files(clone)

    class Killed(BaseException):
        pass

    def kill(*_words: object, **_more: object) -> None:
        raise Killed

    for again in (hooks.install_hooks, hooks.uninstall_hooks):
        with monkeypatch.context() as patched:
            patched.setattr(owner, moment, kill)
            with pytest.raises(Killed):
                hooks.install_hooks(clone, os.environ)
        assert files(clone)[".git/hooks/pre-push"] == before[".git/hooks/pre-push"]
        again(clone, os.environ)
        hooks.uninstall_hooks(clone, os.environ)
        assert files(clone) == before


def test_a_hook_is_asked_for_by_its_repository_whatever_its_folders_name(clone: Path) -> None:
    folder = no_commit(clone)
    commit(folder, answer="right")
    assert hooks.places(folder, {})[0].path == folder / ".git/hooks/prepare-commit-msg"
