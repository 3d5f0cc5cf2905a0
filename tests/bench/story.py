"""What the demo's story costs for each run: calls and writes on GitHub, and programs here."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests

from forge.demo.people import Team
from forge.demo.stage import Stage
from forge.demo.story import STEPS
from tests.bench.calls import count, kind
from tests.bench.figures import Figure, say
from tests.bench.programs import noted, watch
from tests.bench.world import running

Call = Mapping[str, Any]
RUNS = 2  # the story ends the first run with a report and the second one with answered threads
FEW_STEPS = 4  # to the plan
QUIET_S, PATIENCE_S = 4, 60
NO_SWEEP_S = 900  # its calls are a figure of their own, and a slow machine would have some here
DRAGGED, REPORTED = "dragged to In Progress: queued, and says why", "the final report"  # with a pull request


def measure(*, quick: bool) -> Iterator[Figure]:
    """Play the story, or its first steps, and count what the forge was asked for, with planning and merge."""
    with (
        TemporaryDirectory(prefix="cardinal-bench-") as name,
        running(settings={"CARDINAL_SWEEP_S": str(NO_SWEEP_S)}, more_env=watch(Path(name))) as scene,
    ):
        programs = Path(name)
        set_up = _set_up(scene.team)
        requests.delete(f"{scene.team.url}/_forge/calls", timeout=30).raise_for_status()
        start = time.perf_counter()
        stage = Stage(scene.team)
        before = dict[str, int]()
        for step in STEPS[: FEW_STEPS if quick else None]:
            say(f"  … {step.name}")
            before[step.name] = len(noted(programs))
            step.play(stage)
        took_s = time.perf_counter() - start
        calls = _calls(scene.team)
        started = noted(programs)[before[DRAGGED] : before.get(REPORTED)]
    yield from cost(calls)
    note = "from the first drag to the draft; git's helpers, and what runs in sandboxes, are not counted"
    parts = count((program, 1) for program in started)
    yield Figure("programs_per_run", len(started), "programs", 60, note, parts)
    yield Figure("github_calls_of_set_up", len(set_up), "calls", note="once for each board, not in the above")
    yield Figure("story", took_s, "s", note="the demo's story, without its set-up")


def cost(calls: Sequence[Call]) -> Iterator[Figure]:
    """Yield what the story's calls come to, for each of its runs and by kind of call."""
    fields = [call for call in calls if "SetFields" in call["operation"]]
    writes = [call for call in calls if writes_content(call) and "SetFields" not in call["operation"]]
    spent = [call for call in calls if call["path"] == "/graphql"]
    note = f"{len(calls)} calls of a story with {RUNS} runs, its planning, reviews and merge included"
    yield Figure(
        "github_calls_per_run", len(calls) / RUNS, "calls", 50, f"{note}; parts: of both", _count(calls)
    )
    note = "comments posted and edited, reactions, pull requests, threads, status updates: what people read"
    yield Figure("github_content_writes_per_run", len(writes) / RUNS, "writes", 20, note, _count(writes))
    yield Figure(
        "github_field_writes_per_run", len(fields) / RUNS, "writes", note="requests; of the card's face"
    )
    points = sum(int(call["cost"]) for call in spent)
    note = "of GitHub's 5,000 an hour, by its own formula for GraphQL"
    yield Figure("github_points_per_run", points / RUNS, "points", note=note, parts=_count(spent, "cost"))
    rest = sum(int(call["cost"]) for call in calls) - points
    yield Figure("github_rest_calls_per_run", rest / RUNS, "calls", note="of GitHub's 5,000 an hour")


def _count(calls: Sequence[Call], what: str = "") -> dict[str, float]:
    """Return how many calls there were of each kind, or the sum of `what` over them."""
    return count(
        (kind(call["method"], call["path"], call["operation"]), int(call[what]) if what else 1)
        for call in calls
    )


def _set_up(team: Team) -> list[Call]:
    """Return the calls that were made until no more came: columns described, fields made, cards seen."""
    calls: list[Call] = []
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        time.sleep(QUIET_S)
        seen = _calls(team)
        if len(seen) == len(calls) > 0:
            return seen
        calls = seen
    raise TimeoutError(f"the board was not set up within {PATIENCE_S} s")


def _calls(team: Team) -> list[Call]:
    found: list[Call] = requests.get(f"{team.url}/_forge/calls", timeout=30).json()
    return found


def writes_content(call: Call) -> bool:
    """Tell whether a call changed something that people see; getting a token does not."""
    if call["path"] == "/graphql":
        return str(call["operation"]).startswith("mutation")
    return call["method"] != "GET" and "access_tokens" not in call["path"]
