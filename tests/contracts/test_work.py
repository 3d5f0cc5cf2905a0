"""A real agent in a real container plans, works, asks and is answered; the model's words are scripted."""

import pytest

from ledger.states import Ending, RunState
from runner.agents import load
from tests.contracts.stand import AGENTS, COMMIT, EDIT, FINISH, IN_OWN_IMAGE, PLAN, Stand
from tests.runner.world import BRANCH, git

pytestmark = pytest.mark.timeout(600)
OFTEN = [name for name in AGENTS if name != "opencode"]  # that one is approved in test_trial.py
APPROVED = [*OFTEN, *(pytest.param(name, marks=pytest.mark.soak) for name in ("opencode", *IN_OWN_IMAGE))]


def test_it_plans_without_changing_anything_writes_commits_and_reports(stand: Stand) -> None:
    early = {"edit": {"path": "early.txt", "content": "x\n"}}
    stand.scenario(
        plan=[early, {"run": "echo sneaky > sneaky.txt"}, PLAN],
        work=[EDIT, {"tick": 1}, COMMIT, {"tick": 2}, FINISH],
    )
    stand.run(stand.spec(planned=False))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.show("hello.txt") == "hello"
    changed = git(stand.world.origin, "diff", "--name-only", "main", BRANCH)
    assert changed.splitlines() == ["hello.txt"]
    assert stand.world.only("FinalReported").done == "There is a greeting."
    assert stand.world.of("PlanTicked")[-1].done == 2
    if (
        stand.agent == "gemini"
    ):  # it keeps the answer to a refused call without the call, which no provider takes
        assert len(stand.world.of("SessionStarted")) == 2
    else:
        assert stand.model.problems == []


@pytest.mark.parametrize("agent", APPROVED, indirect=True)
def test_a_plan_waits_for_approval_and_the_work_goes_on_in_the_same_session(stand: Stand) -> None:
    stand.scenario(plan=[PLAN], work=[EDIT, COMMIT, FINISH])
    spec = stand.spec(planned=False, plan_required=True)
    stand.run(spec)
    assert stand.world.of("RunStepped")[-1].after is RunState.AWAITING_APPROVAL
    assert stand.world.only("PlanProposed").steps == ("Write hello.txt", "Commit it")
    stand.world.approve(spec)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert len({event.session_id for event in stand.world.of("TurnStarted") if event.session_id}) <= 1
    assert len(stand.world.of("SessionStarted")) == 1


@pytest.mark.soak(instead="tests/conformance/test_agents.py")
@pytest.mark.parametrize(
    "agent", [name for name in (*AGENTS, *IN_OWN_IMAGE) if load(name).efforts], indirect=True
)
def test_the_effort_of_the_policy_reaches_the_model_in_the_providers_own_words(stand: Stand) -> None:
    stand.scenario(work=[EDIT, COMMIT, FINISH])
    stand.run(stand.spec(effort="low"))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    said = [stand.effort_of(request.body) for request in stand.model.requests if request.body.get("tools")]
    assert set(said) == {"low"}, said
