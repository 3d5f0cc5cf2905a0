"""What goes wrong in each story of the suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forge.demo.story import STEPS, Step
from tests.chaos import leaving, victims
from tests.chaos.cardinal import Cardinal
from tests.chaos.held import answer_held
from tests.chaos.watch import Blow

Faults = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plot:
    """One story: its blows, the faults of deliveries from each named step on, and GitHub's delays in it."""

    blows: tuple[Blow, ...] = ()
    deliveries: Mapping[str, Faults] = field(default_factory=dict)
    delays: Faults = field(default_factory=dict)
    steps: tuple[Step, ...] = STEPS


def _kills(victim: str, strike: Callable[[Cardinal], victims.Repaired], *moments: str) -> tuple[Blow, ...]:
    return tuple(Blow(victim, moment, strike) for moment in moments)


AT_FIRST = "an idea becomes a card"
EVERY = 100_000
QUIET = "quiet"
EACH_PROCESS, EACH_FAULT = "each process once", "each fault of deliveries once"  # what every change must pass
KILLS: Mapping[str, Plot] = {
    EACH_PROCESS: Plot(
        _kills("web", victims.web, "refining")
        + _kills("ticker", victims.part("ticker"), "planning")
        + _kills("run process", victims.run_child, "working")
        + _kills("standby", victims.part("standby"), "the question is being posted")
        + _kills("run worker", victims.run_worker, "validating")
        + (answer_held("pull:"),)
        + _kills("cardinal up", victims.up, "second run")
        + _kills("redis", victims.redis, "merging")
    ),
    "web": Plot(
        _kills("web", victims.web, "refining", "the plan is being posted", "working")
        + _kills("web", victims.web, "the report is being posted", "merging")
    ),
    "run process": Plot(
        _kills("run process", victims.run_child, "planning", "working", "validating", "publishing")
        + _kills("run process", victims.run_child, "second run")
    ),
    "run worker": Plot(
        _kills("run worker", victims.run_worker, "planning", "working", "validating", "publishing")
        + _kills("run worker", victims.run_worker, "second run")
    ),
    "publisher with comments": Plot(
        tuple(answer_held(key) for key in ("say:", "plan:r1:1", "question:r1-q1", "report:r1"))
    ),
    "publisher with pull requests": Plot(tuple(answer_held(key) for key in ("pull:", "thread:r2"))),
    "publisher at the end": Plot(tuple(answer_held(key) for key in ("run:r2", "merge:"))),
    "redis": Plot(
        _kills("redis", victims.redis, "refining")
        + _kills("redis, wake-ups waiting", victims.redis_with_waiting_jobs, "the plan is being posted")
        + _kills("redis", victims.redis, "working")
        + _kills("redis, wake-ups waiting", victims.redis_with_waiting_jobs, "publishing")
        + _kills("redis", victims.redis, "merging")
    ),
    "ticker and control": Plot(
        _kills("control worker", victims.part("control-1"), "refining")
        + _kills("ticker", victims.part("ticker"), "planning")
        + _kills("standby", victims.part("standby"), "the question is being posted")
        + _kills("ticker", victims.part("ticker"), "validating", "second run")
        + _kills("control worker", victims.part("control-1"), "merging")
    ),
    "cardinal up": Plot(_kills("cardinal up", victims.up, "planning", "working", "second run")),
    "stopped run process": Plot(_kills("run process, asleep", victims.sleeping_run_child, "working")),
}
BEHIND: Faults = {"seed": 1, "tokens_s": 1, "heads_s": 3, "nodes_s": 3, "reads_s": 3}
DELIVERIES: Mapping[str, Plot] = {
    EACH_FAULT: Plot(
        deliveries={
            AT_FIRST: {"duplicate": EVERY},
            "planning: the assistant asks": {"reverse": 2},
            "dragged to In Progress: queued, and says why": {"lose": 3},
            "approved by a tick": {"delay_s": 0.1},
            "dragged to Review": {"reverse": 4},
            "Done: merged, branch deleted": {"lose": 2},
        },
        delays=BEHIND,
    ),
    "while GitHub is behind": Plot(delays={**BEHIND, "seed": 2, "tokens_s": 4, "reads_s": 10}),
    "twice": Plot(deliveries={AT_FIRST: {"duplicate": EVERY}}),
    "late": Plot(deliveries={AT_FIRST: {"delay_s": 0.1}}),
    "in reverse": Plot(
        deliveries={
            "planning: the assistant asks": {"reverse": 2},
            "dragged to In Progress: queued, and says why": {"reverse": 4},
            "approved by a tick": {"reverse": 3},
            "answered by a plain reply": {"reverse": 3},
            "dragged to Review": {"reverse": 4},
            "dragged back: a second run on the same branch": {"reverse": 4},
            "approved by a review": {"reverse": 4},
            "Done: merged, branch deleted": {"reverse": 4},
        }
    ),
    "lost": Plot(
        deliveries={
            "planning: the assistant asks": {"lose": 3},
            "refined: the brief is ready": {"lose": 1},
            "dragged to In Progress: queued, and says why": {"lose": 3},
            "approved by a tick": {"lose": 1},
            "answered by a plain reply": {"lose": 2},
            "changes requested in two threads": {"lose": 3},
            "Done: merged, branch deleted": {"lose": 2},
        }
    ),
}
LEAVING = "publisher with a move"
PLOTS: Mapping[str, Plot] = {
    QUIET: Plot(),
    **KILLS,
    **DELIVERIES,
    LEAVING: Plot((answer_held("move:"),), steps=leaving.STEPS),
}
