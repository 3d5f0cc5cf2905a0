"""An upgrade while a run waits for an answer: the run goes on and succeeds; then the upgrade is taken back.

Nothing is released yet. The last commit before migration 8 stands for the release before: its own code,
started from a folder of its own, makes the ledger.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forge.demo import launch
from forge.demo.stage import Stage
from forge.server import Forge
from ledger.event import Event
from ledger.events.run import RunEnded, RunParked
from ledger.lifecycle.open import connect
from ledger.log import event_store
from ledger.states import Ending
from tests.house.source import PACKAGES, ROOT
from tests.story.test_story import BRISK

PREVIOUS = "9360621b"
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


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a folder with the code of the release before."""
    folder = tmp_path / "old"
    folder.mkdir()
    packed = subprocess.run(
        ("git", "archive", PREVIOUS, *PACKAGES), cwd=ROOT, capture_output=True, check=False
    )
    assert packed.returncode == 0, f"this clone has no commit {PREVIOUS}: git fetch --unshallow"
    subprocess.run(("tar", "x"), cwd=folder, input=packed.stdout, check=True)
    return folder


def cardinal(code: Path, home: Path, *words: str) -> tuple[int, str]:
    """Run a command of the code in that folder, in the home; return its exit code and what it printed."""
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


@contextmanager
def up(scene: launch.Scene, log: Path) -> Iterator[None]:
    """Run this code's `cardinal up` in the scene's home until the block ends."""
    environment = {**launch.own_environment(), "PYTHONPATH": str(ROOT)}
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
    old: Path, tmp_path: Path
) -> None:
    log = tmp_path / "upgraded.log"

    def way_back() -> str | None:
        said = re.search(r"to go back, .* run `cardinal (restore .*)`", log.read_text())
        return said and said[1]

    with parked(old, tmp_path) as (scene, stage):
        with up(scene, log):
            restore = stage.wait("the new version says how to go back", way_back)
            stage.team.say("alice", stage.number, "Everybody")
            stage.says("the run goes on with the answer", "The note is for Everybody")
            stage.sees("the run is done", Agent="work complete")
        ended = [event.ending for event in told(scene.home) if isinstance(event, RunEnded)]
        assert ended == [Ending.SUCCEEDED]
        code, refusal = cardinal(old, scene.home, "up")
        assert (code, "newer than 7: nothing was changed" in refusal) == (2, True), refusal
        code, printed = cardinal(old, scene.home, *shlex.split(restore))
        assert code == 0, printed
        (run,) = json.loads(cardinal(old, scene.home, "runs", "--json")[1])
        assert run["state"] == "parked"
