"""A repository of somebody's own, with a policy on `main` and work on another branch."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner, Result

from bot.admin.clone import hooks
from bot.admin.clone.hooks import HookState
from bot.cli import main
from tests.runner.world import GIT_ENVIRONMENT, git

Hooks = Callable[..., Result]
POLICY = """\
version: 1
repository:
  setup: [touch made]
  validation:
    fast: [test -f made]
    full: ["grep -q right answer"]
"""


def commit(clone: Path, **files: str) -> str:
    """Commit these files, and return the commit."""
    for name, text in files.items():
        path = clone / (".github/cardinal.yml" if name == "policy" else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "Work")
    return git(clone, "rev-parse", "HEAD")


def every_byte(folder: Path) -> str:
    """Return one digest of all files in the folder, git's own among them."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Yield a folder on the disk: of /dev, where the suite keeps its own, checks see nothing."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository, made once: six calls of git."""
    folder = tmp_path_factory.mktemp("made")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, policy=POLICY, answer="right")
    git(folder, "switch", "--quiet", "--create", "work")
    return folder


@pytest.fixture
def clone(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = shutil.copytree(made, tmp_path / "shop", symlinks=True)
    git(folder, "update-index", "--refresh")  # else a look at it would write: its files are others now
    for name, text in {**os.environ, **GIT_ENVIRONMENT, "CARDINAL_ALLOW_UNSANDBOXED": "true"}.items():
        monkeypatch.setenv(name, text)
    return folder


@pytest.fixture
def origin(clone: Path, tmp_path: Path) -> Path:
    """A bare repository that has `main`, and is the clone's `origin`."""
    git(tmp_path, "clone", "--quiet", "--bare", str(clone), "origin.git")
    git(tmp_path / "origin.git", "symbolic-ref", "HEAD", "refs/heads/main")
    git(clone, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(clone, "fetch", "--quiet", "origin")
    git(clone, "remote", "set-head", "origin", "main")
    return tmp_path / "origin.git"


@pytest.fixture
def cardinal(clone: Path, program: Path) -> Hooks:
    """Return a way to call `cardinal hooks`; the hooks that it puts in call `program`."""

    def run(*words: str, folder: Path = clone) -> Result:
        done = CliRunner().invoke(main, ("hooks", words[0], "-C", str(folder), *words[1:]))
        assert done.exit_code == 0, done.output
        for hook in (
            place.path for place in hooks.places(folder, os.environ) if place.state is HookState.OURS
        ):
            hook.write_text(re.sub("^cardinal=.*", f"cardinal={program}", hook.read_text(), flags=re.M))
        return done

    return run


def tried(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git with the environment of this process, hooks and all."""
    return subprocess.run(
        ("git", *words), cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
