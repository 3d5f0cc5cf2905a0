"""Hides the home from the repository around it, and from its `git clean`; tracked files stay as they are."""

import os
import shutil
from pathlib import Path

from ledger.lifecycle.in_place import put_in_place
from runner.git.cli import run_git

GIT_S = 60.0


def hide(home: Path) -> Path | None:
    """Add the home to `.git/info/exclude` of the repository around it; return that file, or None outside one.

    A home that is hidden becomes an empty repository: `git clean` removes none without a second `-f`.
    Worktrees and submodules, whose `.git` is a file, are left alone: their exclude file is others' too.
    Source: git-scm.com/docs/gitignore, `$GIT_DIR/info/exclude`.
    """
    for folder in home.absolute().parents:
        if (folder / ".git").is_dir() and not (folder / ".git").is_symlink():
            name = f"{home.absolute().relative_to(folder)}/"
            file = _exclude(folder / ".git" / "info" / "exclude", f"/{name}")
            if file is not None and home.is_dir() and not os.path.lexists(home / ".git"):
                _keep(home / ".git", folder, name)
            return file
        if (folder / ".git").exists():
            return None
    return None


def _exclude(file: Path, line: str) -> Path | None:
    if file.parent.is_symlink() or file.is_symlink() or (file.exists() and not file.is_file()):
        return None  # of another folder: git would not make it so
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    if line not in text.splitlines():
        file.parent.mkdir(exist_ok=True)
        start = "" if not text or text.endswith("\n") else "\n"
        with file.open("a", encoding="utf-8", errors="surrogateescape") as exclude:
            exclude.write(f"{start}{line}\n")
    return file


def _keep(nested: Path, folder: Path, name: str) -> None:
    """Make a repository in which nothing shows; none where theirs shows the home after all: `git add` fails.

    Source: gitrepository-layout(5), git-clean(1).
    """
    args = ("check-ignore", "--quiet", "--", name)
    if run_git(args, folder=folder, beat=lambda: None, timeout_s=GIT_S).exit_code != 0:
        return
    fresh = nested.with_name(".git.new")
    shutil.rmtree(fresh, ignore_errors=True)  # of a process that was killed
    for part in ("objects", "refs", "info"):
        (fresh / part).mkdir(parents=True)
    (fresh / "info" / "exclude").write_text("*\n")
    (fresh / "HEAD").write_text("ref: refs/heads/none\n")
    put_in_place(fresh, nested)
