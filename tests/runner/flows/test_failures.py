"""However an agent ends, its run ends too: with a reason, its last known state, and nothing left running."""

import resource
import time
from typing import Any

import pytest

from ledger.states import Ending
from runner.errors import GitError, KilledError, WorkspaceError
from runner.run.history import History
from runner.session import turn
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import HURRY, World, git, limited


def end_of(world: World, work: list[Any], **changes: Any) -> tuple[str, str]:
    """Run a scenario with this work to its end; return the reason and the detail."""
    world.scenario(plan=[PLAN], work=work)
    world.run(world.spec(**changes))
    ended = world.ended()
    assert ended.ending is Ending.FAILED, ended
    assert ended.last_known
    return ended.reason, ended.detail


def test_an_agent_that_is_killed_does_not_end_its_run_which_goes_on_where_it_was(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"progress": "Halfway"}, "crash"])
    spec = world.spec()
    with pytest.raises(KilledError, match=r"^the agent's program was killed \(signal 9\): the machine may"):
        world.run(spec)
    assert world.of("RunEnded") == []
    assert world.of("TurnEnded")[-1].outcome == "broken"
    world.scenario(plan=[PLAN], work=[{"progress": "Halfway"}, EDIT, FINISH])
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "work"]


def test_an_agent_that_exits_with_an_error_fails_its_run(world: World) -> None:
    assert end_of(world, [{"fail": 7}]) == ("agent_error", "the agent's program ended with code 7")


def test_a_history_of_the_agents_own_is_told_as_that(world: World) -> None:
    fresh = {"run": "git checkout -q --orphan own; git commit -qm Own"}
    reason, detail = end_of(world, [EDIT, fresh, FINISH])
    assert reason == "repository"
    assert detail.endswith("the branch with its base: no commit is in the history of both"), detail


def test_a_git_that_fails_without_a_word_is_told_as_that() -> None:
    for error in (GitError("push", ""), WorkspaceError("git fetch", " \n")):
        assert str(error).endswith(": it did not say why")


def test_a_silent_agent_is_stopped_and_its_run_is_stalled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "DEFAULT_GRACE", HURRY)
    began = time.monotonic()
    reason, detail = end_of(world, ["hang"], limits=limited(silence_s=1.0))
    assert reason == "stalled", detail
    assert time.monotonic() - began < 45
    assert world.of("TurnEnded")[-1].outcome == "stopped"


def test_a_flood_without_a_newline_costs_bounded_memory_and_time(world: World) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    reason, _ = end_of(world, [{"flood": {"bytes": 200_000_000}}])
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert reason == "guardrail"
    assert grown_kib < 60_000
    assert time.monotonic() - began < 60


def test_a_flood_within_the_limit_is_read_and_forgotten(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"flood": {"bytes": 30_000_000}}, EDIT, FINISH])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_invalid_bytes_are_noise(world: World) -> None:
    world.scenario(plan=[PLAN], work=["garbage", EDIT, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED


def test_an_agent_that_ends_without_a_word_is_asked_once_for_its_report(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT], report=[{"finish": {"done": "I forgot to say."}}])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.only("FinalReported").done == "I forgot to say."


def test_an_agent_that_gives_no_report_even_then_gave_up(world: World) -> None:
    assert end_of(world, [EDIT])[0] == "gave_up"
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "report-1"]


def test_an_agent_without_a_plan_gave_up(world: World) -> None:
    world.scenario(work=[EDIT, FINISH])
    world.run(world.spec())
    assert world.ended().reason == "gave_up"


def test_work_that_is_claimed_but_not_there_is_no_success(world: World) -> None:
    assert end_of(world, [FINISH])[0] == "no_changes"


def test_no_change_is_a_success_when_the_agent_says_why(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"finish": {"done": "It greets already.", "nothing_to_do": True}}])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.of("BranchPushed") == []
    assert git(world.origin, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("model", ["missing", "../../etc/passwd", ""])
def test_a_scenario_that_is_not_there_fails_the_run_before_anything_is_started(
    world: World, model: str
) -> None:
    world.run(world.spec(model=model))
    ended = world.ended()
    assert (ended.reason, ended.cause) == ("spawn_failed", ":".join(filter(None, ("ScenarioError", model))))


def test_an_agent_that_is_not_installed_fails_the_run(world: World) -> None:
    world.run(world.spec(agent="os"))
    assert (world.ended().reason, world.ended().cause) == ("spawn_failed", "UnknownPartError:os")
    assert "scripted" in world.ended().detail


def test_secrets_that_an_agent_prints_do_not_reach_the_ledger_or_the_log(world: World) -> None:
    token = "ghs_" + "a" * 36
    finish = {"finish": {"done": f"The token is {token}"}}
    world.scenario(plan=[PLAN], work=[{"say": token}, {"progress": f"got {token}"}, EDIT, finish])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert token not in repr(world.events())
    assert token not in (world.places.logs / "r1.log").read_text()


def test_finishing_counts_although_the_program_falls_afterwards(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH, "crash"])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED


def test_the_history_of_nothing_is_a_queued_run() -> None:
    assert (History().state, History().open_question, History().find_undelivered_answer()) == (
        "queued",
        None,
        None,
    )
