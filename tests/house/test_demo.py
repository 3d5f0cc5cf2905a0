"""What scripts/demo leaves on a machine, and takes away again; what scripts/images says while it builds."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import termios
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.web.api.operations.follow_events import FollowedEvent
from forge.demo import launch
from forge.demo.__main__ import line
from ledger.event import Zoom
from runner import agents
from tests.house.source import ROOT

# A stand-in for Docker's program: it has a base image, and builds in three steps.
DOCKER = """#!/bin/sh
case "$*" in
  "version "*) ;;
  "image inspect "*" cardinal/base:bookworm") echo '[] map[cardinal.base:made]' ;;
  "image inspect --format {{.Size}} "*) echo 1200000000 ;;
  "image inspect "*) exit 1 ;;
  build*)
    echo 'Step 1/3 : FROM cardinal/base:bookworm AS programs'
    echo ' ---> 0123456789ab'
    echo 'Step 2/3 : RUN apt-get update     && apt-get install'
    [ ! -p "$HOLD" ] || read -r _ <"$HOLD"
    echo 'Step 3/3 : CMD ["bash"]'
    exit "${BUILD_RESULT:-0}" ;;
esac
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a copy of the scripts, and folders for what they keep elsewhere."""
    shutil.copytree(ROOT / "scripts", tmp_path / "top/scripts")
    for name in ("tmp", "cache/cardinal/engine", "bin", "top/docker"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copytree(ROOT / "docker/agent", tmp_path / "top/docker/agent")
    shutil.copytree(ROOT / "requirements", tmp_path / "top/requirements")
    (tmp_path / "top/.dockerignore").write_text("*\n")
    program = tmp_path / "bin/docker"
    program.write_text(DOCKER)
    program.chmod(0o755)
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("CARDINAL_", "DOCKER_"))}
    own = {
        "TMPDIR": str(place / "tmp"),
        "XDG_CACHE_HOME": str(place / "cache"),
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
    }
    return {**kept, **own, **more}


def said(place: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        cwd=place / "top",
        env=environment(place, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def test_on_request_the_demo_removes_all_that_it_left_but_what_is_in_use(place: Path) -> None:
    old, playing, others = (
        place / "tmp" / name for name in ("cardinal-demo-old", "cardinal-demo-now", "mine")
    )
    for folder in (old / "operator", playing, others, place / "top/.venv"):
        folder.mkdir(parents=True)
    (place / "top/.venv/cardinal-demo").touch()
    held = os.open(playing, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    done = said(place, "scripts/demo", "--clean")
    assert done.returncode == 0, done.stdout
    assert f"stays: {playing}: a demo plays in it" in done.stdout
    assert {one.name for one in (place / "tmp").iterdir()} == {playing.name, others.name}
    assert not (place / "cache/cardinal/engine").exists()
    assert not (place / "top/.venv").exists()
    os.close(held)
    assert f"removed: {playing}" in said(place, "scripts/demo", "--clean").stdout


def test_an_engine_in_use_and_an_environment_for_development_stay(place: Path) -> None:
    (place / "top/.venv").mkdir()
    engine = place / "cache/cardinal/engine"
    with (engine / "users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        done = said(place, "scripts/demo", "--clean")
    assert f"stays: {engine}" in done.stdout
    assert (engine / "users").exists()
    assert (place / "top/.venv").exists()
    assert "scripts/setup made it for development" in done.stdout


def test_the_demo_offers_every_agent() -> None:
    assert launch.agents() == agents.names()


def test_clean_is_no_option_beside_others(place: Path) -> None:
    assert said(place, "scripts/demo", "--auto", "--clean").returncode == 2


def test_a_build_says_its_size_its_steps_and_its_seconds(place: Path) -> None:
    lines = said(place, "scripts/images", "agent").stdout.splitlines()
    assert lines[0].startswith("scripts/images: building cardinal/agent:latest: about ")
    assert "minutes" in lines[0]
    assert "GB" in lines[0]
    steps = [line.split("cardinal/agent:latest: ")[1] for line in lines[1:4]]
    assert [one.split(", ")[0] for one in steps] == ["step 1 of 3", "step 2 of 3", "step 3 of 3"]
    assert steps[1].endswith(" s: RUN apt-get update && apt-get install")
    assert lines[-1].startswith("scripts/images: cardinal/agent:latest built in ")
    assert lines[-1].endswith("1.2 GB")


def test_a_long_step_is_not_silent(place: Path) -> None:
    hold = place / "hold"
    os.mkfifo(hold)
    build = subprocess.Popen(
        ("scripts/images", "agent"),
        cwd=place / "top",
        env=environment(place, HOLD=str(hold), IMAGES_SAY_EVERY_S="1"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert build.stdout is not None
    found = next(line for line in build.stdout if "still" in line)
    assert "cardinal/agent:latest: still step 2 of 3, " in found
    hold.write_text("")
    build.communicate(timeout=60)
    assert build.returncode == 0


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (200, 200), (0, 80), (None, 120)])
def test_each_step_is_one_line_of_the_terminal(place: Path, columns: int | None, width: int) -> None:
    words = ("scripts/follow-build", "cardinal/agent:latest", str(place / "log"))
    build = "Step 1/2 : RUN apt-get update     && apt-get install" + " package" * 30 + "\n"
    ours, theirs = os.openpty() if columns is not None else os.pipe()
    if columns is not None:
        termios.tcsetwinsize(theirs, (24, columns))
    subprocess.run(words, cwd=place / "top", input=build, stdout=theirs, text=True, timeout=60, check=True)
    (line,) = os.read(ours, 4096).decode().splitlines()
    for one in (ours, theirs):
        os.close(one)
    assert (len(line), line[-1]) == (width, "…")
    assert re.search(r"step 1 of 2, [0-9]+ s: RUN apt-", line)
    assert (place / "log").read_text() == build


def test_a_build_that_fails_fails_and_shows_its_log(place: Path) -> None:
    done = said(place, "scripts/images", "agent", BUILD_RESULT="1")
    assert done.returncode == 1
    assert "Step 3/3" in done.stdout
    assert "was not built" in done.stdout


@pytest.mark.parametrize(
    ("program", "step"), [("", "apt-get install bubblewrap"), ("bwrap", "Let users make namespaces")]
)
def test_the_demo_says_in_one_line_that_agents_run_without_a_sandbox(
    place: Path, monkeypatch: pytest.MonkeyPatch, program: str, step: str
) -> None:
    if program:
        (place / "bin/docker").rename(place / "bin" / program)
    monkeypatch.setenv("PATH", str(place / "bin"))
    finding = {"name": "sandbox", "level": "ok", "found": "bubblewrap works"}
    assert launch.sandbox_warning([finding]) == ""
    warned = launch.sandbox_warning(
        [finding | {"level": "warn", "found": "agents run without one: no bwrap."}]
    )
    assert warned.startswith("No sandbox: agents and checks run as you, with your files in reach. ")
    assert step in warned
    assert warned.splitlines() == [warned]


@pytest.mark.parametrize(
    ("number", "text", "printed"),
    [
        (
            4,
            "alice moved it from Tasks to In Progress",
            "#4 “Add it up”  you (alice) moved it from Tasks to In Progress",
        ),
        (4, "bob: Hm.", "#4 “Add it up”  you (bob): Hm."),
        (4, "bobby: Hm.", "#4 “Add it up”  bobby: Hm."),
        (0, "appeared in Tasks: Add it up", "draft “Add it up”  appeared in Tasks"),
        (12, "x" * 200, f"#12 “Add it up”  {'x' * 52}…"),
    ],
)
def test_each_event_is_one_line_and_the_team_is_you(number: int, text: str, printed: str) -> None:
    event = followed_event(number, text)
    assert line(event, 80) == f"{datetime.fromisoformat(event['at']).astimezone():%H:%M:%S}  {printed}"


def test_a_title_cannot_move_the_terminals_cursor() -> None:
    assert line(followed_event(4, "no", title="a\x1b[2Jb"), 80).endswith("  #4 “a[2Jb”  no")


def followed_event(number: int, text: str, title: str = "Add it up") -> dict[str, Any]:
    """Return an event as `cardinal watch --json` prints it."""
    event = FollowedEvent(
        seq=7,
        at=datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC),
        kind="CardMoved",
        zoom=Zoom.CONVERSATION,
        card="PVTI_1",
        repository="acme/shop" if number else "",
        number=number,
        title=title,
        run="",
        text=text,
    )
    found: dict[str, Any] = json.loads(event.model_dump_json())
    return found
