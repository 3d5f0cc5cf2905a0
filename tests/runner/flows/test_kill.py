"""Killed at any moment, a run goes on under its next claim: one plan, one question, one report, one push."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from ledger.errors import StaleClaimError
from ledger.events.run import Progressed, QuestionAnswered, RunEvent, RunRequeued
from ledger.states import Ending
from runner.errors import KilledError
from runner.run.log import RunLog
from runner.run.run_spec import RunSpec
from runner.supervisor import execute_run
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import RUN, World, checks, git
from tests.waiting import until

STORY = [
    {"progress": "Asking"},
    {"ask": {"question": "Which?", "choices": ["Hello", "Moin"]}},
    {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}},
    {"note": "The greeting is in hello.txt"},
    {"commit": "Greet"},
    FINISH,
]
MOMENTS = (
    "RunStepped preparing", "BriefingMade", "TurnStarted", "SessionStarted", "PlanProposed", "PlanApproved",
    "RunStepped working", "Progressed", "QuestionAsked", "ToolUsed", "Noted", "BoardToolCalled finish",
    "TurnEnded", "CommandChecked", "ValidationEnded", "RunStepped publishing", "BranchExported", "RunEnded",
)  # fmt: skip
JUST_BEFORE = ("PlanProposed", "QuestionAsked", "CommandChecked", "RunEnded")
ALL = [(name, True) for name in MOMENTS] + [(name, False) for name in JUST_BEFORE]
# One for each kind of thing that may be half done: plan, tool, question, check, push, last word.
OFTEN = [
    ("PlanProposed", False), ("Progressed", True), ("QuestionAsked", True), ("CommandChecked", False),
    ("BranchExported", True), ("RunEnded", False),
]  # fmt: skip


def living_in(root: Path) -> list[int]:
    """Return the processes that see a folder of `root` as theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                seen = (entry / "mountinfo").read_text() + os.readlink(entry / "cwd")
            except OSError:
                continue
            if f"{root}/workspaces/" in seen:
                found.append(int(entry.name))
    return found


def wait_for_its_end(world: World) -> None:
    """Return once no process of the run lives any more: the agent goes with its supervisor."""
    until(lambda: not living_in(world.root), "the agent's end after its supervisor's")


def moment_of(event: RunEvent) -> str:
    """Return how MOMENTS calls an event."""
    detail = getattr(event, "after", None) or getattr(event, "tool", None)
    return (
        f"{type(event).__name__} {detail}"
        if detail and type(event).__name__ != "ToolUsed"
        else type(event).__name__
    )


class DyingLog(RunLog):
    """Kills its own process when it is about to write a moment, or just after it was written."""

    moment, after = "", True

    def append(self, *events: RunEvent) -> None:
        dies = any(self.moment == moment_of(event) for event in events)
        if dies and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(*events)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)


def die_at(world: World, spec: RunSpec, moment: str, *, after: bool, kind: type[RunLog] = DyingLog) -> bool:
    """Execute in a process of its own that dies at `moment`; False when the moment never came."""
    spec, log = world.claim(spec, worker="dying")
    log.__class__ = kind
    if isinstance(log, DyingLog):
        log.moment, log.after = moment, after
    child = multiprocessing.get_context("fork").Process(
        target=execute_run, args=(spec, log, world.remote, world.clock)
    )
    child.start()
    child.join(timeout=60)
    return child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("moment", "after"),
    [*OFTEN, *(pytest.param(*row, marks=pytest.mark.soak) for row in ALL if row not in OFTEN)],
)
def test_a_killed_supervisor_loses_nothing_and_doubles_nothing(
    world: World, moment: str, after: bool
) -> None:
    world.scenario(plan=[PLAN], work=STORY)
    spec = world.spec(validation=checks(full=["grep Moin hello.txt"]))
    killed = die_at(world, spec, moment, after=after)
    wait_for_its_end(world)
    if killed and not world.of("RunEnded"):
        world.again(spec, "reclaimed")
    if not world.of("RunEnded"):
        asked = world.only("QuestionAsked")
        world.write(QuestionAnswered(RUN, asked.question_id, "ann", "Moin"), RunRequeued(RUN, "answered"))
        killed = killed or die_at(world, spec, moment, after=after)
        if killed and not world.of("RunEnded"):
            if world.kinds()[-1] != "RunRequeued":
                world.write(RunRequeued(RUN, "reclaimed"))
            world.run(spec)
    assert killed
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    for kind in ("PlanProposed", "QuestionAsked", "Noted", "FinalReported", "BranchPushed", "SessionStarted"):
        world.only(kind)
    assert world.show("hello.txt") == "Moin"
    assert [place.name for place in world.places.workspaces.iterdir()] == ["PVTI_1"]
    assert git(world.origin, "rev-list", "--count", "main..cardinal/12-hello") == "1"


def test_a_run_whose_player_was_killed_goes_on_in_its_session(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"run": "test -f died || { touch died; kill -9 $PPID; }"}, FINISH])
    spec = world.spec()
    with pytest.raises(KilledError, match="signal 9"):
        world.run(spec)
    session = world.only("SessionStarted").session_id
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED
    assert {one.session_id for one in world.of("SessionStarted")} == {session}
    assert len(world.of("PlanProposed")) == 1


class DoomedLog(RunLog):
    """Kills its own process a few looks after the agent hangs."""

    looks = 0

    def beat(self) -> None:
        super().beat()
        self.looks += self.history.last_line == "Stuck"
        if self.looks > 4:
            assert living_in(world_of(self))
            os.kill(os.getpid(), signal.SIGKILL)


def world_of(log: RunLog) -> Path:
    return Path(str(log._engine.url.database)).parent


def test_an_agent_that_hangs_dies_with_its_supervisor(world: World) -> None:
    background = {"run": "setsid sleep 300 >/dev/null 2>&1 &"}
    world.scenario(plan=[PLAN], work=[background, {"progress": "Stuck"}, "hang"])
    assert die_at(world, world.spec(), "", after=True, kind=DoomedLog)
    wait_for_its_end(world)


def test_a_claim_that_was_taken_over_cannot_write(world: World) -> None:
    spec = world.spec()
    _, old = world.claim(spec)
    world.write(RunRequeued(RUN, "reclaimed"))
    _, new = world.claim(spec)
    with pytest.raises(StaleClaimError):
        old.append(Progressed(RUN, "late"))
    new.append(Progressed(RUN, "in time"))
    assert [event.text for event in world.of("Progressed")] == ["in time"]


def test_a_stale_claim_writes_nothing_more_and_its_agent_is_dead(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"progress": "Sleeping"}, {"sleep": 60}, FINISH])
    spec = world.spec()
    claimed, log = world.claim(spec, worker="old")

    class Robbed(RunLog):
        """Loses its claim once the agent works."""

        def beat(self) -> None:
            if (
                self.history.last_line == "Sleeping"
                and world.lease
                and world.lease.generation == claimed.generation
            ):
                world.write(RunRequeued(RUN, "reclaimed"))
                world.claim(spec, worker="new")
            super().beat()

    log.__class__ = Robbed
    log._ttl_s = 0.5
    began = time.monotonic()
    with pytest.raises(StaleClaimError):
        execute_run(claimed, log, world.remote, world.clock)
    assert time.monotonic() - began < 45
    assert living_in(world.root) == []
    assert world.kinds()[-1] == "RunClaimed"
