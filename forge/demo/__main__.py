"""`python -m forge.demo`: the demo by hand, or with --auto the whole story without hands."""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from forge.demo import launch
from forge.demo.people import REPOSITORY, StoryError
from forge.demo.stage import PATIENCE_S, Stage
from forge.demo.story import Seen, play
from forge.model.server import ScriptedModel
from forge.seed.demo import TEAM
from forge.stopping import stop_event, wait_for_stop

if TYPE_CHECKING:
    from forge.demo.launch import Scene

# Beside what people and agents say: what an agent is doing, how its checks ended, and whether it is merged.
WORK = frozenset({"Progressed", "CommandChecked", "PullChanged"})
WIDTH, TITLE_CHARS = 120, 40
STOP_S = 10


@contextmanager
def print_events(scene: "Scene") -> Iterator[None]:
    """Print each event from now on until the block ends. What follows the log dies with this process."""
    # From the first event, for it needs seconds to start; what is older than this moment is not printed.
    words = ["setpriv", "--pdeathsig", "KILL", *scene.words("watch", "--json", "--from", "0")]
    begun, log = datetime.now(UTC), scene.home.parent / "cardinal.log"
    with log.open("ab") as errors:
        following = subprocess.Popen(  # in a group of its own: Ctrl-C is for the demo, which stops it
            words, env=scene.environment, stdout=subprocess.PIPE, stderr=errors, text=True, process_group=0
        )
    assert following.stdout is not None
    printing = threading.Thread(target=_print, args=(following.stdout, begun), name="events")
    printing.start()
    try:
        yield
    finally:
        ended = following.poll()
        following.terminate()
        following.wait(STOP_S)
        printing.join()
        if ended is not None:
            print(f"The lines about events stopped early: see {log}", flush=True)


def _print(events: IO[str], begun: datetime) -> None:
    last = ""
    for text in events:
        event = json.loads(text)
        is_shown = event["zoom"] == "conversation" or event["kind"] in WORK
        if is_shown and datetime.fromisoformat(event["at"]) >= begun:
            now = line(event, _width())
            if now != last:  # a command is something that a person said, too
                print(now, flush=True)
            last = now


def line(event: dict[str, Any], width: int = WIDTH) -> str:
    """Return one line about an event of `cardinal watch --json`; the team is whoever sits at this machine."""
    card = f"#{event['number']}" if event["number"] else "draft"
    said = event["text"].removesuffix(f": {event['title']}")
    who = next((login for login in TEAM if re.match(rf"{login}\b", said)), "")
    if who:
        said = f"you ({who}){said.removeprefix(who)}"
    said = f"{card} “{_cut(event['title'], TITLE_CHARS)}”  {said}"
    at = datetime.fromisoformat(event["at"]).astimezone()
    return _cut(f"{at:%H:%M:%S}  {said}", width)


def _cut(text: str, most: int) -> str:
    text = "".join(char for char in text if char.isprintable())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _width() -> int:
    """Return the terminal's width; without a terminal that of a usual page."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH
    except OSError:
        return WIDTH


BOARD = "/orgs/acme/projects/1"
# How much longer than the scripted agent's steps theirs may take: OpenCode alone starts for seconds.
SLOWER = {"scripted": 1.0, "claude": 3.0, "codex": 3.0}
SLOWEST = 5.0
FIRST = """
The board is at {board}
Do this first: drag “Baskets over 100 get a discount” to In Progress. Open the card when it needs input,
and tick “Approve this plan”: an agent starts working."""
BY_HAND = """
Then:
1. Answer its question with a plain comment on the card.
2. Drag the card to Review, and open its pull request. “You are”, at the top right, makes you bob: comment on
   a line, “Name the threshold” or anything else, and request changes. Drag the card back to In Progress.
3. See the gate say no. Drag the card to Review again, and push something that breaks it to its branch:
     git clone -q GIT shop && cd shop && git switch BRANCH
     echo 1/0 >> shop/discount.py && git commit -qam Oops && git push
   cardinal/gate is red on that commit and says what failed. Nobody can merge it: main is protected.
     git revert --no-edit HEAD && git push
4. Approve the pull request as bob, and drag the card to Done: it is merged.

Everything else can be dragged, too. In Planning an assistant answers. All of it is scripted, and says
so where the script has no answer.
Ctrl-C stops the demo."""
BEHIND = """
Cardinal's own pages: {url}
A look behind it, from another shell: {command} doctor
"""
# As a team would have it that lets agents in: an approving review, and Cardinal's gate on the very commit.
PROTECTED = {
    "repository": REPOSITORY,
    "action": "protect",
    "actor": "alice",
    "reviews": 1,
    "checks": ["cardinal/gate"],
}


def main() -> int:
    """Run the demo; return 0 only if every step was observed on the forge."""
    parser = argparse.ArgumentParser(
        prog=_name(),
        description=__doc__,
        epilog=f"{_name()} --clean removes what demos left behind.",
    )
    parser.add_argument("--auto", action="store_true", help="play the whole story without hands")
    parser.add_argument("--browser", action="store_true", help="open the board in a browser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was observed to FILE")
    parser.add_argument("--agent", choices=launch.agents(), default="scripted", help="who works on the cards")
    parser.add_argument("--workspace", choices=("local", "docker"), help="where; scripted agents: local")
    parser.add_argument("--enterprise", action="store_true", help="GitHub is an Enterprise Server")
    parser.add_argument("--port", type=int, default=0, help="the forge's port; a free one unless given")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder afterwards")
    options = parser.parse_args()
    options.workspace = options.workspace or ("local" if options.agent == "scripted" else "docker")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    root = Path(tempfile.mkdtemp(prefix="cardinal-demo-"))
    os.environ["KF_RULE_CACHE_DIR"] = str(root / "rules")  # of the guard of secrets; else in the home folder
    print("The demo starts: a small GitHub, and Cardinal beside it. That takes a few seconds.", flush=True)
    try:
        with (
            _in_use(root),
            launch.running(
                root,
                port=options.port,
                agent=options.agent,
                workspace=options.workspace,
                server=launch.SERVER if options.enterprise else "",
            ) as scene,
        ):
            scene.team.call("alice", "POST", "/_forge/repository", PROTECTED)
            if not options.auto:
                return _by_hand(scene, browser=options.browser)
            _print_behind(scene)
            stage = Stage(scene.team, patience_s=PATIENCE_S * SLOWER.get(options.agent, SLOWEST))
            return _auto(scene, stage, options.json)
    except StoryError as error:
        print(f"\nnot observed: {error}", file=sys.stderr)
        options.keep = True
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
        _print_leftovers(root, options.workspace)


def _name() -> str:
    """Return what the demo was called by."""
    return os.environ.get("DEMO_NAME", "cardinal demo")


def _stop(number: int, _frame: object) -> NoReturn:
    """Exit, so that every `finally` on the way out stops what the demo has started."""
    sys.exit(128 + number)


@contextmanager
def _in_use(root: Path) -> Iterator[None]:
    """Hold the folder's lock: `cardinal demo --clean` leaves a folder alone that a demo plays in."""
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _print_leftovers(root: Path, workspace: str) -> None:
    engine = os.environ.get("ENGINE_KEPT", "")  # an engine of the demo's own: its images are there
    made = (root, Path(engine or "/nowhere"), Path(sys.prefix, "cardinal-demo"))
    left = [str(path).removesuffix("/cardinal-demo") for path in made if path.exists()]
    if left:
        print(f"\nleft behind; {_name()} --clean removes it:", *left, sep="\n  ", flush=True)
    if workspace == "docker" and not engine:
        print("\nleft in your Docker: docker image rm cardinal/agent:latest removes it", flush=True)


def _by_hand(scene: launch.Scene, *, browser: bool) -> int:
    """Say what to do, open the board, and tell what happens until Ctrl-C."""
    url = scene.team.url
    board = url + BOARD
    as_carol = url.replace("://", "://carol:forge-user-carol@")
    stopped = stop_event()
    with print_events(scene):
        print(FIRST.format(board=board), flush=True)
        if browser:
            webbrowser.open(board)
        print(BY_HAND.replace("GIT", f"{as_carol}/{REPOSITORY}.git"), flush=True)
        _print_behind(scene)
        wait_for_stop(stopped)
    return 0


def _print_behind(scene: launch.Scene) -> None:
    print(BEHIND.format(url=scene.cardinal_url, command=scene.command_line), flush=True)
    if warning := launch.sandbox_warning(scene.checkup()):
        print(f"{warning}\n", flush=True)


def _auto(scene: launch.Scene, stage: Stage, report: Path | None) -> int:
    observed = play(stage, before=lambda name: print(f"  … {name}", flush=True))
    observed += _verify(scene, stage)
    if scene.model is not None:
        observed += _report_model(scene.model)
    for step in observed:
        print(f"{step.took_s:6.2f} s  {step.step}: {step.seen}")
    took_s = sum(step.took_s for step in observed)
    print(f"{took_s:6.2f} s  all {len(observed)} steps were observed on the forge")
    if report is not None:
        report.write_text(json.dumps([asdict(step) for step in observed], indent=1))
    return 0


def _verify(scene: launch.Scene, stage: Stage) -> list[Seen]:
    name = f"acme/shop#{stage.number}"
    audit = json.loads(_output(scene, "audit", "verify", "--json"))
    shown = json.loads(_output(scene, "show", name, "--zoom", "conversation", "--json"))
    timeline = json.dumps(shown)
    for word in ("PlanApproved", "QuestionAnswered", "FinalReported", "RunEnded"):
        if word not in timeline:
            raise StoryError("the timeline is complete", 0, f"{word} is missing")
    failed = [finding["found"] for finding in scene.checkup() if finding["level"] == "fail"]
    if failed:
        raise StoryError("the doctor finds nothing that fails", 0, "; ".join(failed))
    return [
        Seen("the doctor finds nothing that fails", f"{scene.command_line} doctor", 0),
        Seen("the timeline is complete", f"{name}: {len(shown['events'])} entries", 0),
        Seen("the hash chain is verified", f"{audit['events']} events, head {audit['head'][:12]}", 0),
    ]


def _report_model(model: ScriptedModel) -> list[Seen]:
    """Report the model's calls; raises StoryError if it lacked a tool: then the story was luck."""
    if model.problems:
        raise StoryError("the model found every tool that it needed", 0, "; ".join(model.problems))
    calls = [call for call in model.served if call.complete]
    used = sum(call.tokens.fresh + call.tokens.out for call in calls if call.tokens)
    return [Seen("the model was asked", f"{len(calls)} calls, {used} tokens", 0)]


def _output(scene: launch.Scene, *words: str) -> str:
    done = scene.command(*words)
    if done.returncode != 0:
        raise StoryError(f"cardinal {' '.join(words)}", 0, done.stderr[-500:])
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
