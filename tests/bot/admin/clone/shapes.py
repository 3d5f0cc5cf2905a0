"""Shapes of somebody's repository, and all bytes of one."""

import os
import subprocess
from pathlib import Path

from tests.bot.admin.clone.conftest import commit
from tests.runner.world import GIT_ENVIRONMENT, git

THEIRS = "#!/bin/sh\necho there before >&2\n"


def files(folder: Path, *, but: tuple[str, ...] = ()) -> dict[str, tuple[int, bytes]]:
    """Return mode and bytes of every file below, git's own, too, but those with such a part in their path."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            bytes(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and not any(part in str(path) for part in but)
    }


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def worktree(clone: Path) -> Path:
    git(clone, "worktree", "add", "--quiet", "--detach", "../other")
    return clone.parent / "other"


def submodule(clone: Path) -> Path:
    git(clone.parent, "init", "--quiet", "--initial-branch=main", "whole")
    whole = clone.parent / "whole"
    git(whole, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(clone), "part")
    git(whole / "part", "branch", "--quiet", "main", "origin/main")
    return whole / "part"


def shallow(clone: Path) -> Path:
    git(clone.parent, "clone", "--quiet", "--depth=1", clone.as_uri(), "other")
    return clone.parent / "other"


def detached(clone: Path) -> Path:
    git(clone, "switch", "--quiet", "--detach")
    return clone


def subfolder(clone: Path) -> Path:
    return put(clone / "-rf $(touch x)'\n\"" / "file", "").parent


def with_hooks(clone: Path) -> Path:
    put(clone / ".git/hooks/pre-push", THEIRS)
    (clone / ".git/hooks/post-merge").symlink_to("/nowhere")
    return clone


def without_hooks_folder(clone: Path) -> Path:
    for path in (clone / ".git/hooks").iterdir():
        path.unlink()
    (clone / ".git/hooks").rmdir()
    return clone


def husky(clone: Path) -> Path:
    put(clone / ".husky/pre-push", THEIRS)
    git(clone, "config", "core.hooksPath", ".husky/_")
    return clone


def shared_link(clone: Path) -> Path:
    without_hooks_folder(clone)
    put(clone.parent / "shared" / "pre-push", THEIRS)
    (clone / ".git/hooks").symlink_to(clone.parent / "shared")
    return clone


def half_staged(clone: Path) -> Path:
    (clone / "answer").write_text("staged")
    git(clone, "add", "answer")
    (clone / "answer").write_text("not staged")
    return clone


def many_refs(clone: Path) -> Path:
    head = git(clone, "rev-parse", "HEAD")
    names = sorted(f"{head} refs/heads/many/{number}" for number in range(20_000))
    (clone / ".git/packed-refs").write_text("\n".join(("# pack-refs with: sorted ", *names, "")))
    return clone


def bare(clone: Path) -> Path:
    git(clone.parent, "clone", "--quiet", "--bare", str(clone), "other.git")
    return clone.parent / "other.git"


def no_commit(clone: Path) -> Path:
    git(clone.parent, "init", "--quiet", "a\nb")
    return clone.parent / "a\nb"


PROJECTS = {  # name: its file, what is in it, and the check that is proposed
    "pytest": ("pyproject.toml", "[tool.pytest.ini_options]\n", "~/venv/bin/python -m pytest -q"),
    "npm": ("package.json", '{"scripts": {"test": "node --test"}}', "npm test"),
    "go": ("go.mod", "module a\n", "go test ./..."),
    "cargo": ("Cargo.toml", '[package]\nname = "a"\nversion = "1.0.0"\n', "cargo test"),
    "make": ("Makefile", "test:\n\ttrue\n", "make test"),
    "no tests": ("README", "Nothing to test\n", ""),
}
TESTED = {  # name: files with a test that passes
    "go": {"a_test.go": 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) { t.Log("A") }\n'},
    "cargo": {"src/lib.rs": "#[test]\nfn a() {}\n"},
}


def project(clone: Path, name: str) -> Path:
    """Make the clone, on both branches, a project of that kind, without a policy of its own."""
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    file, text, _ = PROJECTS[name]
    commit(clone, **{file: text}, **TESTED.get(name, {}))
    git(clone, "branch", "--force", "main")
    return clone


def history(clone: Path, megabytes: int) -> Path:
    """Give `main` a history of so many megabytes that no compression makes smaller, a file a commit."""
    settings = ("-c", "core.compression=0", "-c", "pack.packSizeLimit=100m")
    feed = ("fast-import", "--quiet", "--force", "--depth=0")  # nothing is like what was before it
    with subprocess.Popen(
        ("git", *settings, *feed), cwd=clone, stdin=subprocess.PIPE, env=GIT_ENVIRONMENT
    ) as importing:
        assert importing.stdin is not None
        write, parent = importing.stdin.write, b"from refs/heads/main^0\n"
        for _ in range(megabytes):
            write(
                b"commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\n%s"
                % parent
            )
            write(b"M 100644 inline blob\ndata %d\n%s\n" % (1 << 20, os.urandom(1 << 20)))
            parent = b""
    assert importing.returncode == 0
    return clone
