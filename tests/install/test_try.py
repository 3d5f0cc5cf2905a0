"""From the wheel to the first merged card of somebody's own repository, killed again and again."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import requests

from forge.demo.people import wait_for
from runner.workspaces import bubblewrap
from tests.bot.admin.clone import shapes
from tests.bot.admin.trial.test_try_shapes import MAY_CHANGE
from tests.forge.portable.conftest import besides_git
from tests.install.conftest import run
from tests.runner.world import git

PIP_HERE = (
    "from bot.cli.upgrade import pip; import subprocess; subprocess.run((*pip(), '--version'), check=True)"
)
LIMIT_S, FIRST_CARD_S = 240, 300
NOTHING: Mapping[str, str] = {}
TEST = (
    "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n"
)


@dataclass
class Board:
    """The board of `cardinal try`, while it runs; the person has the key and the login."""

    process: "subprocess.Popen[bytes]"
    url: str
    key: str
    repository: str
    login: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make one call as the person; return its JSON."""
        headers = {"Authorization": f"token {self.key}"}
        answer = requests.request(method, self.url + path, json=body, headers=headers, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def drag(self, column: str) -> None:
        """Drag the first card."""
        card = {"project": 1, "issue": f"{self.repository}#1", "column": column, "actor": self.login}
        self.call("POST", "/_forge/drag", card)

    def comment(self, *words: str) -> dict[str, Any]:
        """Return the comment on the first card that has these words, once it is there."""

        def comment() -> str | None:
            comments = self.call("GET", f"/repos/{self.repository}/issues/1/comments?per_page=100")
            fitting = [one for one in comments if all(word in one["body"] for word in words)]
            return json.dumps(fitting[0]) if fitting else None

        found: dict[str, Any] = json.loads(wait_for(f"a comment with {words}", comment, limit_s=LIMIT_S))
        return found

    def approve(self, plan: dict[str, Any]) -> None:
        """Tick the box of the plan's comment."""
        ticked = plan["body"].replace("[ ] **Approve", "[x] **Approve").replace("[ ] Approve", "[x] Approve")
        assert ticked != plan["body"]
        self.call("PATCH", f"/repos/{self.repository}/issues/comments/{plan['id']}", {"body": ticked})

    def pull(self) -> dict[str, Any]:
        """Return the newest pull request; empty while there is none."""
        pulls = self.call("GET", f"/repos/{self.repository}/pulls?state=all")
        return dict(self.call("GET", f"/repos/{self.repository}/pulls/{pulls[0]['number']}")) if pulls else {}

    def review(self) -> None:
        """Approve the finished work, and wait until it is no draft."""
        self.comment("is done", "is ready for your review")
        self.drag("Review")
        reviews = f"/repos/{self.repository}/pulls/{self.pull()['number']}/reviews"
        self.call("POST", reviews, {"event": "APPROVE"})
        self.wait("it is no draft", lambda: not self.pull()["draft"])

    def play(self) -> None:
        """Play the first card from its drag to its merge."""
        self.drag("In Progress")
        self.approve(self.comment("box:approve"))
        self.review()
        self.drag("Done")
        self.wait("it is merged", lambda: self.pull()["merged"])

    def wait(self, what: str, is_so: Callable[[], object]) -> None:
        """Wait until it is so."""
        wait_for(what, lambda: "so" if is_so() else None, limit_s=LIMIT_S)


@contextmanager
def started(
    cardinal: Path, repository: Path, *more: str, exports: Mapping[str, str] = NOTHING
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run `cardinal try` as a shell does, in a process group of its own, until the block ends or kills it.

    `exports` are the variables that the person exported.
    """
    foreign = ("PYTHON", "CARDINAL_")
    own = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    environment = {**own, **exports}
    with (repository.parent / "said").open("ab") as out:
        words = [str(cardinal), "try", "--yes", "--no-browser", *more]
        process = subprocess.Popen(
            words, cwd=repository, env=environment, stdout=out, stderr=out, process_group=0
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(LIMIT_S)


@contextmanager
def board(
    cardinal: Path, repository: Path, *more: str, exports: Mapping[str, str] = NOTHING
) -> Iterator[Board]:
    """Run `cardinal try` in the same way, and wait for the board."""
    said = repository.parent / "said"
    start = said.stat().st_size if said.exists() else 0

    def address() -> str | None:
        assert process.poll() is None, said.read_text()
        return next(iter(re.findall(r"http://\S+/-/enter\?key=[\w-]+", said.read_text()[start:])), None)

    with started(cardinal, repository, *more, exports=exports) as process:
        url, _, key = wait_for("the address", address, limit_s=LIMIT_S).partition("/-/enter?key=")
        answers = json.loads(
            Path(git(repository, "rev-parse", "--show-toplevel"), ".cardinal/try.json").read_bytes()
        )
        yield Board(process, url, key, f"local/{answers['name']}", answers["login"])


@contextmanager
def taken(port: int) -> Iterator[None]:
    """Listen there, unless somebody does already."""
    with socket.socket() as listener:
        with suppress(OSError):
            listener.bind(("127.0.0.1", port))
            listener.listen()
        yield


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "my shop"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    for key, text in (("user.name", "Ann"), ("user.email", "ann@example.com")):
        git(folder, "config", key, text)
    (folder / "tests").mkdir()
    (folder / "tests/test_a.py").write_text(TEST)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


@pytest.mark.timeout(900)
def test_the_first_card_is_merged_whatever_is_killed_moved_or_taken(cardinal: Path, repository: Path) -> None:
    before = besides_git(repository)
    with board(cardinal, repository) as it:
        it.drag("In Progress")
        plan = it.comment("box:approve")
        it.process.kill()
    with board(cardinal, repository) as it:
        it.approve(plan)
        it.process.kill()  # the tick was answered, so it is kept
    was = repository
    repository = repository.rename(repository.with_name("moved shop"))
    with taken(8585), taken(8586), board(cardinal, repository) as it:
        it.wait("a pull request", it.pull)
        it.process.kill()
    with board(cardinal, repository) as it:
        it.review()
        branch = it.pull()["head"]["ref"]
        it.wait("its branch here", lambda: branch in git(repository, "branch", "--list", "cardinal/*"))
        it.drag("Done")
        it.process.kill()
    see_it_merged(cardinal, repository)
    assert branch not in git(repository, "branch")
    said = (repository.parent / "said").read_text()
    assert "take it with `git merge --ff-only cardinal/main`" in said
    assert re.search(r"^the inbox: http://127\.0\.0\.1:[0-9]+/$", said, re.MULTILINE)
    remove_board(repository)
    assert besides_git(repository.rename(was)) == before


def see_it_merged(cardinal: Path, repository: Path) -> None:
    """Start the board once more, and see the first card merged once, beside the person's branch."""
    with board(cardinal, repository) as it:
        it.wait("it is merged", lambda: it.pull()["merged"])
        it.wait("the merged work here", lambda: "cardinal/main" in git(repository, "branch"))
        it.wait("its branch is gone", lambda: "cardinal/1-" not in git(repository, "branch"))
        pulls = it.call("GET", f"/repos/{it.repository}/pulls?state=all")
    assert it.process.returncode == 0
    assert len(pulls) == 1
    assert git(repository, "--no-optional-locks", "status", "--porcelain") == ""
    assert git(repository, "log", "--format=%s", "main..cardinal/main") == "Say hello (#2)"


def remove_board(repository: Path) -> None:
    """Remove the folder of a board that has ended."""
    assert not [line for line in running() if str(repository) in line]
    for path in sorted((repository / ".cardinal").rglob("*"), reverse=True):
        path.unlink() if path.is_symlink() or not path.is_dir() else path.rmdir()
    (repository / ".cardinal").rmdir()


KILLS = (lambda process: os.killpg(process.pid, signal.SIGKILL), subprocess.Popen.kill)
ACTS: tuple[Callable[[Board], None], ...] = (
    lambda it: it.drag("In Progress"),
    lambda it: it.approve(it.comment("box:approve")),
    Board.review,
    lambda it: it.drag("Done"),
)
NEW_S = 6.0  # in which a first start makes the board's folder
OF_BOARD = (
    "/objects/",
    "/refs/heads/cardinal/",
    "/logs/refs/heads/cardinal/",
    "/info/exclude",
    "/.cardinal/",
)


@pytest.mark.soak(
    instead="tests/install/test_try.py::test_the_first_card_is_merged_whatever_is_killed_moved_or_taken"
)
@pytest.mark.timeout(900)
def test_the_first_card_is_merged_through_kills_at_random_moments(cardinal: Path, repository: Path) -> None:
    """The program alone is killed and its whole group, in turns, while it starts and after each act."""
    digest, theirs = besides_git(repository), shapes.files(repository, but=OF_BOARD)
    main = git(repository, "rev-parse", "main")
    chance, kills, start_s = random.Random(), cycle(KILLS), NEW_S

    def kill(process: "subprocess.Popen[bytes]", within_s: float) -> None:
        after_s = chance.uniform(0, within_s)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(after_s)
        next(kills)(process)
        print(f"killed after {after_s:.1f} of {within_s:.1f} s")
        assert shapes.files(repository, but=OF_BOARD) == theirs
        git(repository, "fsck", "--no-dangling", "--no-progress")
        merged = git(repository, "for-each-ref", "--format=%(subject) %(parent)", "refs/heads/cardinal/main")
        assert merged in {"", f"Say hello (#2) {main}"}

    for act in (None, *ACTS):
        if act is not None:
            began = time.monotonic()
            with board(cardinal, repository) as it:
                start_s = time.monotonic() - began
                act(it)
                kill(it.process, start_s)
        for _ in range(2):
            with started(cardinal, repository) as process:
                kill(process, 2 * start_s)
    see_it_merged(cardinal, repository)
    remove_board(repository)
    assert besides_git(repository) == digest


@pytest.mark.soak(
    instead="tests/install/test_try.py::test_the_first_card_is_merged_whatever_is_killed_moved_or_taken"
)
@pytest.mark.timeout(600)
def test_from_the_wheel_to_the_first_merged_card_are_three_commands_and_less_than_five_minutes(
    wheel: Path, python: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what pip fetches, and a home that is empty."""
    home = repository.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    started = time.monotonic()  # three commands: environment, install, try
    run(python, "-m", "venv", home / "cardinal", cwd=home)
    run(home / "cardinal/bin/pip", "install", "--quiet", wheel, cwd=home, limit_s=FIRST_CARD_S)
    with board(home / "cardinal/bin/cardinal", repository) as it:
        it.play()
    took_s = time.monotonic() - started
    print(f"from the wheel to the first merged card: {took_s / 60:.1f} minutes, 3 commands")
    assert took_s < FIRST_CARD_S


@pytest.mark.soak(
    instead="tests/install/test_wheel.py::test_every_command_says_what_it_is_for_without_a_checkout"
)
@pytest.mark.timeout(600)
def test_pipx_and_uvx_give_a_cardinal_that_can_upgrade_itself(
    wheel: Path, commit: str, python: Path, tmp_path: Path
) -> None:
    """With what pip fetches, these two programs too."""
    run(python, "-m", "venv", tmp_path / "tools")
    tools = tmp_path / "tools/bin"
    run(tools / "pip", "install", "--quiet", "pipx", "uv", cwd=tmp_path)
    at = (
        "env",
        "UV_SYSTEM_CERTS=1",
        f"HOME={tmp_path}",
        f"PIPX_HOME={tmp_path}/pipx",
        f"PIPX_BIN_DIR={tmp_path}/bin",
    )
    run(*at, tools / "pipx", "install", wheel, cwd=tmp_path)
    by_pipx = run(tmp_path / "bin/cardinal", "--version", cwd=tmp_path)
    by_uvx = run(
        *at, tools / "uvx", "--python", python, "--from", wheel, "cardinal", "--version", cwd=tmp_path
    )
    assert by_pipx == by_uvx
    assert by_pipx.endswith(f" {commit}\n")
    run(tmp_path / "pipx/venvs/cardinal-board/bin/python", "-P", "-c", PIP_HERE, cwd=tmp_path)


SHAPES: dict[str, Callable[[Path], Path]] = {
    **{name: partial(shapes.project, name=name) for name in shapes.PROJECTS},
    "submodule": shapes.submodule,
    "worktree": shapes.worktree,
    "detached": shapes.detached,
    "subfolder": shapes.subfolder,
    "hooks of its own": shapes.with_hooks,
    "1 GB": partial(shapes.history, megabytes=1024),
}
CHECKED = {name: shapes.PROJECTS[name][2] for name in ("npm", "go", "cargo", "make")}  # they fetch nothing


@pytest.mark.soak(
    instead="tests/bot/admin/trial/test_try_shapes.py::test_work_is_delivered_and_done_and_nothing_else_is_changed"
)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SHAPES)
def test_in_every_shape_the_first_card_is_merged_and_nothing_else_is_changed(
    cardinal: Path, clone: Path, tmp_path: Path, name: str
) -> None:
    """Shapes in which no board can be are in tests/bot/admin/trial/test_trial.py, with the sentence."""
    check = CHECKED.get(name, "")
    if check and not shutil.which(check.split()[0], path=bubblewrap.PATH):
        pytest.skip(f"needs {check.split()[0]}: scripts/soak install says how to get it")
    folder = SHAPES[name](clone)
    may_change = (*MAY_CHANGE, "/info/exclude", "/said")
    before = shapes.files(tmp_path, but=may_change)
    with board(cardinal, folder, "--into", "main") as it:
        it.play()
        if check:
            it.comment("is done", f"| `{check}` | ✅ passed |")
        done = it.pull()["merge_commit_sha"]
        it.wait("the merged work here", lambda: done in git(folder, "for-each-ref", "--format=%(objectname)"))
    top = Path(git(folder, "rev-parse", "--show-toplevel"))
    shutil.rmtree(top / ".cardinal")
    assert shapes.files(tmp_path, but=may_change) == before


def running() -> list[str]:
    """Return where the processes of this machine are."""
    places = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            places.append(os.readlink(place))
        except OSError:  # it has ended, or is another user's
            continue
    return places
