"""People stop, pause and steer a run while its agent works."""

import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import Connection

import pytest

from ledger.events.run import RunSteered, RunStopAsked
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.states import Ending, StopKind
from runner.run.log import RunLog
from runner.run.run_spec import RunSpec
from runner.session import turn
from runner.supervisor import execute_run
from tests.runner.flows.test_kill import living_in
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import HURRY, RUN, World, checks
from tests.waiting import until


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for grace in ("DEFAULT_GRACE", "_HASTY"):
        monkeypatch.setattr(turn, grace, HURRY)


@pytest.mark.parametrize("busy", [{"sleep": 60}, "hang", {"run": "sleep 60"}])
def test_a_cancelled_run_stops_soon_and_says_what_it_cost(world: World, busy: object) -> None:
    done = [EDIT, {"commit": "One"}, {"run": "git commit -qm Two --allow-empty"}]
    world.scenario(plan=[PLAN], work=[{"usage": {"usd": 0.42}}, *done, {"progress": "Busy"}, busy, FINISH])
    took_s = world.meanwhile(
        world.spec(), "Busy", lambda: world.write(RunStopAsked(RUN, StopKind.CANCEL, "ann", "wrong card"))
    )
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.CANCELLED, "cancelled")
    assert ended.detail == "stopped by ann"  # how long that took is told once, by the times of the two events
    assert ended.commits == 2
    assert took_s < 45
    assert world.of("BranchPushed") == []


def test_a_paused_run_keeps_its_place(world: World) -> None:
    busy = [{"note": "Once"}, {"progress": "Busy"}]
    world.scenario(plan=[PLAN], work=[*busy, {"sleep": 60}, EDIT, FINISH])
    spec = world.spec()
    world.meanwhile(spec, "Busy", lambda: world.write(RunStopAsked(RUN, StopKind.PAUSE, "ann", "")))
    assert world.events()[-1].why == "pause"
    world.scenario(plan=[PLAN], work=[*busy, {"sleep": 0}, EDIT, FINISH])
    world.again(spec, "resumed")
    assert world.ended().ending is Ending.SUCCEEDED
    world.only("Noted")


def test_a_run_that_was_cancelled_before_its_claim_starts_nothing(world: World) -> None:
    spec = world.spec()
    world.write(RunStopAsked(RUN, StopKind.CANCEL, "ann", ""))
    world.run(spec)
    assert world.ended().ending is Ending.CANCELLED
    assert not world.places.workspaces.exists()


def test_checks_are_stopped_too(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"progress": "Done"}, FINISH])
    spec = world.spec(validation=checks(fast=["sleep 60"]))
    claimed, log = world.claim(spec)

    class Watched(RunLog):
        """Cancels once the checks run."""

        def beat(self) -> None:
            if self.history.state == "validating" and self.history.stop is None:
                world.write(RunStopAsked(RUN, StopKind.CANCEL, "ann", ""))
            super().beat()

    log.__class__ = Watched
    began = time.monotonic()
    execute_run(claimed, log, world.remote, world.clock)
    assert world.ended().ending is Ending.CANCELLED
    assert time.monotonic() - began < 45


def test_a_message_reaches_the_working_agent_once(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"progress": "Busy"}, {"sleep": 2}, EDIT, FINISH])
    world.meanwhile(world.spec(), "Busy", lambda: world.write(RunSteered(RUN, "ann", "Use Moin", 77)))
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.only("SteeringHeard").comment_ids == (77,)
    assert [said.text for said in world.of("AgentSaid")] == ["Heard: Use Moin"]


def test_an_answer_that_arrives_before_the_parking_leaves_the_run_queued(world: World) -> None:
    from ledger.events.run import QuestionAnswered, RunRequeued

    world.scenario(plan=[PLAN], work=[{"ask": {"question": "Well?"}}, EDIT, FINISH])
    spec = world.spec()
    claimed, log = world.claim(spec)

    class Quick(RunLog):
        """Somebody answers in the moment between question and parking."""

        def append_unless_requeued(self, *events: object) -> bool:
            world.write(
                QuestionAnswered(RUN, QuestionId("r1-q1"), "ann", "Yes"), RunRequeued(RUN, "answered")
            )
            return super().append_unless_requeued(*events)  # type: ignore[arg-type]

    log.__class__ = Quick
    execute_run(claimed, log, world.remote, world.clock)
    assert world.of("RunParked") == []
    world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED


def test_the_lease_is_renewed_while_the_agent_works(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"progress": "Busy"}, {"sleep": 2}, EDIT, FINISH])
    spec, log = world.claim(world.spec(), ttl_s=1.5)
    execute_run(spec, log, world.remote, world.clock)
    assert world.ended().ending is Ending.SUCCEEDED
    with event_store.reading(world.engine) as db:
        from ledger.queue import leases

        assert leases.list_expired(db, "run:") == ()


def until_told(spec: RunSpec, log: RunLog, world: World, code: Connection) -> None:
    """Execute in a process of its own that SIGTERM ends by SystemExit, as a worker's does."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        execute_run(spec, log, world.remote, world.clock)
    except SystemExit as ended:
        code.send(ended.code)


@pytest.mark.parametrize("busy", [{"sleep": 60}, {"run": "sleep 60"}, "hang"])
def test_a_worker_that_is_told_to_end_stops_its_agent_and_loses_nothing(world: World, busy: object) -> None:
    first = [{"usage": {"usd": 0.42}}, {"say": "Before"}, {"note": "Once"}, EDIT, {"progress": "Busy"}]
    world.scenario(plan=[PLAN], work=[*first, busy, FINISH])
    spec = world.spec()
    claimed, log = world.claim(spec)
    context = multiprocessing.get_context("fork")
    heard, code = context.Pipe(duplex=False)
    worker = context.Process(target=until_told, args=(claimed, log, world, code))
    worker.start()
    until(lambda: world.of("Progressed"), "it works", every_s=0.05)
    assert worker.pid
    os.kill(worker.pid, signal.SIGTERM)
    assert heard.poll(60)
    assert heard.recv() == 128 + signal.SIGTERM
    worker.join(timeout=60)
    assert living_in(world.root) == []
    assert world.of("TurnEnded")[-1].outcome == "stopped"
    assert sum(used.usd for used in world.of("UsageMetered")) == 0.42
    assert [said.text for said in world.of("AgentSaid")] == ["Before"]
    world.scenario(plan=[PLAN], work=[*first, {"say": "After"}, FINISH])
    world.again(spec, "handed_back")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert len(world.of("Noted")) == len(world.of("PlanProposed")) == len(world.of("SessionStarted")) == 1
