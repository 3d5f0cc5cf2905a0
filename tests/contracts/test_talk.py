"""Questions, steering and leave for commands: what people say reaches a real agent in its own session."""

import pytest

from ledger.events.run import RunSteered, RunStopAsked
from ledger.states import Ending
from runner.order import Tools
from tests.contracts.stand import COMMIT, EDIT, FINISH, PLAN, Stand

pytestmark = pytest.mark.timeout(600)
BUSY = {"run": "python3 -c 'import time; time.sleep(4)'"}
PUSH = {"run": "git push origin main"}
TOUCH = {"run": "touch /workspace/home/touched"}


def test_a_question_parks_the_run_and_the_answer_resumes_the_session(stand: Stand) -> None:
    ask = {"ask": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
    write = {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}}
    stand.scenario(plan=[PLAN], work=[ask, write, COMMIT, FINISH])
    order = stand.order()
    assert stand.run(order).why == "question"
    assert stand.containers() == []
    assert stand.world.only("QuestionAsked").choices == ("Hello", "Moin")
    stand.world.answer(order, "Moin")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.show("hello.txt") == "Moin"
    assert len(stand.world.of("SessionStarted")) == 1


def test_a_message_steers_the_agent_at_its_next_step(stand: Stand) -> None:
    stand.scenario(plan=[PLAN], work=[{"progress": "Busy"}, BUSY, EDIT, COMMIT, FINISH])
    order = stand.order()
    stand.world.meanwhile(
        order, "Busy", lambda: stand.world.write(RunSteered("r1", "ann", "In blue, please.", 77))
    )
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.only("SteeringHeard").comment_ids == (77,)
    assert "In blue, please." in str(stand.model.requests[-1].body)
    assert [turn.turn for turn in stand.world.of("TurnStarted")] == ["plan", "work"]


def test_a_cancelled_run_stops_in_the_middle_of_a_tool_and_leaves_nothing(stand: Stand) -> None:
    busy = {"run": "python3 -c 'import time; time.sleep(120)'"}
    stand.scenario(plan=[PLAN], work=[EDIT, COMMIT, {"progress": "Busy"}, busy, FINISH])
    stop = RunStopAsked("r1", "cancel", "ann", "wrong card")
    took_s = stand.world.meanwhile(stand.order(), "Busy", lambda: stand.world.write(stop))
    assert (stand.world.ended().ending, stand.world.ended().reason) == (Ending.CANCELLED, "cancelled")
    assert "1 commit kept" in stand.world.ended().detail
    assert took_s < 100
    assert stand.containers() == []


@pytest.mark.parametrize("answer", ["1", "2", "no, not from here"])
def test_a_command_that_people_are_asked_about_runs_only_with_their_leave(stand: Stand, answer: str) -> None:
    stand.scenario(plan=[PLAN], work=[TOUCH, TOUCH, EDIT, COMMIT, FINISH])
    order = stand.order(Tools(ask=("touch:*",)))
    assert stand.run(order).why == "question", stand.world.events()[-1]
    assert "touch" in stand.world.only("PermissionAwaited").command
    assert stand.world.only("QuestionAsked").asker == "permission"
    stand.world.answer(order, answer)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert len(stand.world.of("QuestionAsked")) == 1
    assert (stand.world.places.workspaces / "PVTI_1" / "home" / "touched").exists() == (answer in "12")
    assert bool(stand.world.of("PermissionRefused")) == (answer not in "12")
    assert [one.pattern for one in stand.world.of("ToolAllowed")] == (
        [stand.world.only("PermissionAwaited").command] if answer == "2" else []
    )


def test_what_the_policy_denies_is_denied_at_once_and_said(stand: Stand) -> None:
    stand.scenario(plan=[PLAN], work=[PUSH, EDIT, FINISH])
    stand.run(stand.order(Tools(deny=("git push*",))))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert "git push" in stand.world.only("PermissionRefused").why
    assert stand.world.of("QuestionAsked") == []


def test_a_plan_turn_changes_nothing(stand: Stand) -> None:
    stand.scenario(plan=[EDIT, {"run": "echo sneaky > sneaky.txt"}, PLAN], work=[COMMIT, FINISH])
    stand.run(stand.order())
    assert stand.world.ended().reason == "no_changes"
