"""Cardinal's hooks beside husky and the pre-commit framework, the real programs, pinned."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bot.admin.clone.hooks import MARK
from tests.bot.admin.clone.conftest import Hooks, commit, tried
from tests.bot.admin.clone.shapes import files, put
from tests.house.source import ROOT
from tests.peer.emulator import command
from tests.runner.world import git

CHECKED = "$ test -f made: passed"


def call(*words: str | Path, folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def hooked(clone: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files but those that a commit, a fetch or a push writes."""
    moved = (".git/objects/", ".git/refs/", ".git/logs/", ".git/COMMIT_EDITMSG", ".git/FETCH_HEAD")
    return {name: kept for name, kept in files(clone).items() if not name.startswith(moved)}


def pushed(clone: Path) -> str:
    """Commit and push; return what the hooks said."""
    commit(clone, answer=f"right, {git(clone, 'rev-parse', 'HEAD')}")
    done = tried(clone, "push", "origin", "work")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.fixture(scope="session")
def husky() -> tuple[str, Path]:
    """Return Node and husky's program; made before a clone is, whose home is another."""
    node, peer = command()
    return node, Path(peer).parents[2] / "husky/bin.js"


@pytest.fixture
def pre_commit(
    clone: Path, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Write the framework's file, and return a way to call it."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    monkeypatch.setenv("PATH", f"{program.parent}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin")

    def run(*repositories: dict[str, object]) -> None:
        (clone / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": list(repositories)}))
        call("pre-commit", "install", "--hook-type", "pre-push", folder=clone)

    return run


def local(hook: dict[str, object]) -> dict[str, object]:
    return {"repo": "local", "hooks": [{**hook, "language": "system", "verbose": True}]}


THEIRS = local({"id": "theirs", "name": "theirs", "entry": "echo there too", "pass_filenames": False})


@pytest.mark.parametrize(
    "order",
    ["pre-commit, cardinal, pre-commit", pytest.param("cardinal, pre-commit", marks=pytest.mark.soak)],
)
def test_a_push_asks_both_pre_commit_and_cardinal_and_only_cardinal_goes(
    clone: Path, origin: Path, cardinal: Hooks, pre_commit: Callable[..., None], order: str
) -> None:
    pre_commit(THEIRS)
    alone = hooked(clone)
    if order.startswith("cardinal"):
        call("pre-commit", "uninstall", "--hook-type", "pre-push", folder=clone)
    cardinal("install")
    pre_commit(THEIRS)
    said = pushed(clone)
    assert (said.count("there too"), said.count(CHECKED)) == (1, 1)
    cardinal("uninstall")
    kept = hooked(clone)
    assert kept.keys() == alone.keys()
    assert {name for name in kept if kept[name] != alone[name]} <= {".git/index", "answer"}  # as committed


@pytest.mark.parametrize(
    "is_whole",
    [False, pytest.param(True, marks=[pytest.mark.soak, pytest.mark.timeout(600)])],
    ids=["installed", "with all that pip fetches"],
)
def test_pre_commit_calls_the_hook_that_this_repository_offers(
    clone: Path, origin: Path, pre_commit: Callable[..., None], is_whole: bool
) -> None:
    (offered,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    if is_whole:
        head = git(ROOT, "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD")
        pre_commit({"repo": str(ROOT), "rev": head, "hooks": [{"id": offered["id"], "verbose": True}]})
    else:
        pre_commit(local(offered))
    commit(clone)
    said = pushed(clone)
    assert CHECKED in said, said
    commit(clone, policy="version: 1\nrepository: {validation: {fast: [test -f nowhere]}}\n")
    git(clone, "push", "--quiet", "--no-verify", "origin", "work:main")
    git(clone, "fetch", "--quiet", "origin")
    commit(clone, answer="right, again")
    done = tried(clone, "push", "origin", "work")
    assert (done.returncode, "$ test -f nowhere: failed" in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize("is_first", [pytest.param(True, marks=pytest.mark.soak), False])
def test_a_push_asks_both_husky_and_cardinal_and_only_cardinal_goes(
    husky: tuple[str, Path], clone: Path, origin: Path, cardinal: Hooks, is_first: bool
) -> None:
    (clone / "package.json").write_text('{"name": "shop"}')
    if is_first:
        call(*husky, folder=clone)
    cardinal("install")
    call(*husky, folder=clone)
    theirs = put(clone / ".husky/pre-push", "echo there too\n")
    output = cardinal("install").output
    line = next(text for text in output.splitlines() if f"to {theirs}: " in text).rpartition(": ")[2]
    theirs.write_text(f"echo there too\n{line}\n")
    said = pushed(clone)
    assert (said.count("there too"), said.count(CHECKED)) == (1, 1)
    before = hooked(clone)
    cardinal("uninstall")
    kept = hooked(clone)
    assert before.keys() - kept.keys()
    assert kept == {name: before[name] for name in before if MARK.encode() not in before[name][1]}
    assert CHECKED not in pushed(clone)  # the line that stayed does nothing
