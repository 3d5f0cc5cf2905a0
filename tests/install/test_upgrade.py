"""One wheel over another while a run waits for an answer: the run goes on and succeeds; then back again, and
it succeeds there, too.

Nothing is released yet. The last commit before migration 8 stands for the release before: its own wheel,
installed in a folder of its own, makes the ledger.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.system.redis import server_command
from forge.demo import launch
from forge.demo.people import REPOSITORY
from forge.demo.stage import Stage
from forge.store.apps import ALL_PERMISSIONS
from forge.web.server import Forge
from ledger.event import Event
from ledger.events.run import RunEnded, RunParked
from ledger.lifecycle.open import connect
from ledger.log import event_store
from ledger.states import Ending
from tests.install.conftest import run
from tests.previous import require_previous
from tests.story.test_story import BRISK

# Played in place of the demo's: no pauses for people's eyes.
SCENARIO = """
plan:
  - plan: {summary: A note, steps: [Write it]}
work:
  - ask: {question: "Who is it for?", choices: [Everybody, Nobody]}
  - edit: {path: note.txt, content: "For {{answer}}"}
  - commit: Write a note
  - finish: {done: "The note is for {{answer}}."}
"""


@dataclass(frozen=True)
class Installed:
    """A folder with the wheel of a Cardinal; it is upgraded, and taken back, by installing the other one."""

    packages: Path
    old: Path
    new: Path

    def install(self, wheel: Path) -> None:
        """Put this wheel in the place of the other; both have the same version until one is released."""
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install")
        run(*pip, "--no-index", "--no-deps", "--no-compile", "--upgrade", "--target", self.packages, wheel)


@pytest.fixture
def installed(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Return the release before, installed, and both wheels.

    The release before made the App, and asked for more. It finds its Redis on the PATH: the package that
    carried one is not installed any more.
    """
    monkeypatch.setitem(ALL_PERMISSIONS, "organization_projects", "admin")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "redis-server").symlink_to(server_command(tmp_path)[0])
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    before = tmp_path / "before"
    run("scripts/build", require_previous(), before)
    it = Installed(tmp_path / "packages", next(before.glob("*.whl")), next(built.glob("*.whl")))
    it.install(it.old)
    return it


def cardinal(code: Path, home: Path, *words: str) -> tuple[int, str]:
    """Run a command of the wheel in that folder, in the home; return its exit code and what it printed."""
    done = subprocess.run(
        (sys.executable, "-P", "-m", "bot.cli", *words),
        cwd=home,
        env={**launch.own_environment(), "PYTHONPATH": str(code)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def told(home: Path) -> list[Event]:
    """Return all events of the ledger, of whatever version it is."""
    engine = connect(f"sqlite:///{home}/.cardinal/data/ledger.db")
    with event_store.reading(engine) as db:
        events = [recorded.event for recorded in event_store.read(db, limit=1000)]
    engine.dispose()
    return events


def waits_for(home: Path) -> str | None:
    """Return what the run was parked for, once its worker has let go of it."""
    return next((event.why for event in told(home) if isinstance(event, RunParked)), None)


def ending(home: Path) -> str | None:
    """Return how the run ended; None before."""
    return next((event.ending for event in told(home) if isinstance(event, RunEnded)), None)


@contextmanager
def up(code: Path, scene: launch.Scene, log: Path) -> Iterator[None]:
    """Run the wheel's `cardinal up` in the scene's home until the block ends."""
    environment = {**launch.own_environment(), "PYTHONPATH": str(code)}
    with (
        log.open("wb") as file,
        subprocess.Popen(
            (sys.executable, "-P", "-m", "bot.cli", "up"),
            cwd=scene.home,
            env=environment,
            stdout=file,
            stderr=file,
        ) as group,
    ):
        try:
            yield
        finally:
            launch.stop(group)


@contextmanager
def parked(old: Path, root: Path) -> Iterator[tuple[launch.Scene, Stage]]:
    """Give a forge, and the home of a stopped old Cardinal whose agent has asked."""
    (root / "shop.yml").write_text(SCENARIO)
    settings = {**BRISK, "CARDINAL_SCENARIOS": str(root)}
    forge = Forge(root / "forge").start()
    try:
        with launch.cardinal(forge.url, root, settings=settings, more_env={"PYTHONPATH": str(old)}) as scene:
            stage = Stage(scene.team)
            stage.number = stage.team.new_card("alice", "A note", "For whom?", "In Progress")
            stage.says("the plan is posted", "Plan of run", "box:approve")
            stage.tick("alice", stage.comment_with("Plan of run") or {}, "approve")
            stage.says("the agent asks", "has a question")
            stage.wait("its worker has let go of it", lambda: waits_for(scene.home))
        yield scene, stage
    finally:
        forge.stop()


@pytest.mark.timeout(300)
def test_a_run_that_waits_for_an_answer_outlives_an_upgrade_and_its_taking_back(
    installed: Installed, tmp_path: Path
) -> None:
    log = tmp_path / "upgraded.log"

    def way_back() -> str | None:
        said = re.search(r"to go back, .* run `cardinal (restore .*)`", log.read_text())
        return said and said[1]

    code = installed.packages
    with parked(code, tmp_path) as (scene, stage):
        installed.install(installed.new)
        with up(code, scene, log):
            restore = stage.wait("the new version says how to go back", way_back)
            stage.team.say("alice", stage.number, "Everybody")
            stage.says("the run goes on with the answer", "The note is for Everybody")
            stage.sees("the run is done", Agent="work complete")
        assert ending(scene.home) == Ending.SUCCEEDED
        installed.install(installed.old)
        exit_code, refusal = cardinal(code, scene.home, "up")
        assert (exit_code, "newer than 7: nothing was changed" in refusal) == (2, True), refusal
        exit_code, printed = cardinal(code, scene.home, *shlex.split(restore))
        assert exit_code == 0, printed
        assert ending(scene.home) is None
        with up(code, scene, tmp_path / "taken back.log"):  # the answer is on GitHub, and is read again
            # The release before does not know the account that signed the commit which is on the branch.
            stage.says("it asks about the commit", "was pushed by people, and is missing or altered")
            stage.team.say("alice", stage.number, "Publish it anyway")
            assert stage.wait("its run ends", lambda: ending(scene.home)) == Ending.SUCCEEDED
        pulls = stage.team.call("alice", "GET", f"/repos/{REPOSITORY}/pulls?state=all")
        assert len(pulls) == 1
