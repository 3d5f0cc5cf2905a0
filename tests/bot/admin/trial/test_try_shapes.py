"""A board of `cardinal try` on every shape of a repository: work comes, and no byte of theirs changes."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bot.admin.trial import trial
from bot.admin.trial.checks import look_at_checks
from forge.portable.branches import Branches
from forge.portable.world import Wanted, build
from forge.store import Store
from tests.bot.admin.clone.shapes import (
    detached,
    files,
    history,
    project,
    subfolder,
    submodule,
    with_hooks,
    worktree,
)
from tests.forge.portable.conftest import Portable
from tests.runner.world import git

Shape = Callable[[Path], Path]
SHAPES: dict[str, Shape] = {
    "npm": partial(project, name="npm"),  # of the other kinds of project test_trial compares the bytes
    "submodule": submodule,
    "worktree": worktree,
    "detached": detached,
    "subfolder": subfolder,
    "hooks of its own": with_hooks,
    "5 MB": partial(history, megabytes=5),
}
MAY_CHANGE = (  # objects, and the branches that a board writes
    "/objects/",
    "/refs/heads/main",
    "/refs/heads/cardinal/",
    "/logs/refs/heads/",
)


@pytest.mark.parametrize(
    "name", [*SHAPES, pytest.param("1 GB", marks=[pytest.mark.soak, pytest.mark.timeout(600)])]
)
def test_work_is_delivered_and_done_and_nothing_else_is_changed(
    clone: Path, tmp_path: Path, name: str
) -> None:
    folder = history(clone, 1024) if name == "1 GB" else SHAPES[name](clone)
    before = files(tmp_path, but=MAY_CHANGE)
    place = trial.find(folder, "main" if name in ("detached", "worktree") else "")
    trial.write(place, "scripted", look_at_checks(place, "scripted").proposal, {})
    wanted = replace(Wanted.of((place.folder / trial.ANSWERS).read_text()), name="shop")
    root = place.folder / "forge"
    root.mkdir()
    store, said = Store(root), list[str]()
    world = build(store, wanted)
    branches = Branches(store, wanted, lambda: None, said.append)
    board = Portable(place.top, root, store, world, branches, said)
    work = board.work("cardinal/1-say-hello", "Hello.", start=wanted.into)
    branches.bring_together()
    assert git(place.top, "rev-parse", "cardinal/1-say-hello") == work
    git(board.ours, "update-ref", f"refs/heads/{wanted.into}", work)  # Done
    branches.bring_together()
    assert work in git(place.top, "for-each-ref", "--contains", work, "--format=%(objectname)", "refs/heads")
    shutil.rmtree(place.folder)
    assert files(tmp_path, but=MAY_CHANGE) == before
