"""A bare repository that lies in a checkout came with its files: none of its settings counts."""

from contextlib import suppress
from pathlib import Path

import pytest

from bot.admin.clone import commit, hooks
from bot.admin.clone.own_git import CloneError, git_output
from bot.admin.trial import trial
from tests.runner.world import git

RUN = "touch {ran}; cat"
PROGRAMS = {
    "a filter": {"filter.x.clean": RUN},
    "a monitor of files": {"core.fsmonitor": RUN},
    "a command for SSH": {"core.sshCommand": RUN, "remote.origin.url": "ssh://example.com/x"},
    "a pager and an editor": {"core.pager": RUN, "core.editor": RUN, "pager.status": "true"},
    "a tool for differences": {"diff.external": RUN, "diff.x.textconv": RUN, "diff.x.command": RUN},
    "a folder of hooks": {"core.hooksPath": "."},
}


def embedded(clone: Path, place: str, settings: dict[str, str], ran: Path) -> Path:
    """Put a bare repository, whose work tree is the checkout, into it as files."""
    folder = clone / place
    folder.mkdir(parents=True)
    git(clone, "clone", "--quiet", "--bare", ".git", str(folder / "vendor"))
    inside = folder / "vendor"
    git(clone, "--git-dir", str(inside), "read-tree", "HEAD")  # an index that knows no file's time
    for name, value in ({"core.bare": "false", "core.worktree": str(clone)} | settings).items():
        git(clone, "--git-dir", str(inside), "config", name, value.format(ran=ran))
    (inside / "info/attributes").write_text("* filter=x diff=x\n")
    return inside


@pytest.mark.parametrize("below", ["", "refs", "objects/info"])
@pytest.mark.parametrize("settings", PROGRAMS.values(), ids=PROGRAMS)
def test_no_command_for_a_clone_takes_it(
    clone: Path, tmp_path: Path, settings: dict[str, str], below: str
) -> None:
    ran = tmp_path / "ran"
    inside = embedded(clone, "docs", settings, ran) / below
    inside.mkdir(exist_ok=True, parents=True)
    took: list[object] = []
    for use in (
        lambda: commit.find(inside, "HEAD"),
        lambda: hooks.places(inside, {}),
        lambda: trial.find(inside, "main"),
    ):
        with suppress(CloneError):
            took.append(use())
    took.append(git_output(inside, "status", "--porcelain"))
    assert not ran.exists()
    assert took == [""]


def test_a_bare_repository_of_ones_own_is_taken(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(clone), "server.git")
    assert [hook.name for hook in hooks.places(tmp_path / "server.git", {})] == ["pre-receive"]
    assert git_output(clone / ".git", "rev-parse", "HEAD")  # where git runs the hooks of a push into a clone
