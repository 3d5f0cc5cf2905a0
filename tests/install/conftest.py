"""A wheel that was built from the tree as it is, and a program that was installed from it."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.bot.admin.clone.conftest import clone as clone  # fixtures
from tests.bot.admin.clone.conftest import made as made
from tests.house.source import ROOT

SYSTEM = Path("/usr/bin/python3")


def run(*command: str | Path, cwd: Path = ROOT, limit_s: float = 300) -> str:
    """Run it; return what it printed."""
    foreign = ("PYTHON", "CARDINAL_", "VIRTUAL_ENV")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def git(*words: str, **settings: str) -> str:
    named = [f"{name}={text}" for name, text in settings.items()]
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    return run("env", *named, "git", "-c", f"safe.directory={ROOT}", *identity, *words).strip()


@pytest.fixture(scope="session")
def commit(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a commit of the working tree as it is, whose changes may not be committed yet."""
    index = {"GIT_INDEX_FILE": str(tmp_path_factory.mktemp("index") / "index")}
    git("add", "--all", **index)
    return git("commit-tree", git("write-tree", **index), "-m", "the working tree")


@pytest.fixture(scope="session")
def built(commit: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run("scripts/build", commit, folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def python() -> Path:
    """Return the system's Python, as people have it: that of Debian 12, 3.11.2, has faults of its own.

    Another minor version cannot load the packages of the tests; then it is that of the tests, but not in CI.
    """
    is_ours = f"import sys, venv; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    fits = SYSTEM.exists() and not subprocess.run((SYSTEM, "-c", is_ours), check=False).returncode
    assert fits or "CI" not in os.environ, f"{SYSTEM} is not the Python {sys.version} of .venv"
    return SYSTEM if fits else Path(sys.executable)


@pytest.fixture(scope="session")
def cardinal(built: Path, wheel: Path, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment with the wheel and exactly what requirements.txt lists.

    The packages are links to those of the tests: that they can be fetched is what scripts/setup proves. What
    only this Python wants is fetched, redis' `async-timeout` for 3.11.2 say.
    """
    place = tmp_path_factory.mktemp("fresh")
    run(python, "-m", "venv", "--without-pip", place)
    (packages,) = place.glob("lib/python3*/site-packages")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", place / "bin/python")
    run(*pip, "install", "--no-index", "--no-deps", wheel)
    for entry in entries((built / "requirements.txt").read_text(encoding="utf-8")):
        (packages / entry.name).symlink_to(entry)
    run(*pip, "install", "--no-deps", "--require-hashes", "--requirement", built / "requirements.txt")
    run(*pip, "check")
    return place / "bin/cardinal"


def entries(requirements: str) -> set[Path]:
    """Return the files and folders in site-packages of the distributions that are listed."""
    places = set()
    for name in re.findall(r"^([\w.-]+)==", requirements, re.MULTILINE):
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for other versions of Python
            continue
        parts = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        places |= {Path(str(package.locate_file(part))) for part in parts}
    return places
