"""A limit never kills silently: the run parks, says what was spent, and goes on or ends as people say."""

from typing import Any

import pytest

from ledger.events.run import RunSteered
from ledger.states import Ending
from runner.agents.adapters.scripted import AGENT
from runner.agents.contract import Metering
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import LIMITS, SystemClock, World, checks, limited

SPEND = {"usage": {"usd": 0.4, "in": 10, "out": 10}}
SLOW = {"sleep": 60}  # cut short: it has used too much


class Leap(SystemClock):
    """The machine's time, and some of it is skipped."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


class Still(SystemClock):
    """No working time passes."""

    def monotonic(self) -> float:
        return 1.0


def awake(*work: Any) -> list[Any]:
    """Return the same steps, quick ones."""
    return [{"sleep": 0} if step is SLOW else step for step in work]


@pytest.mark.parametrize(
    ("work", "limits", "said"),
    [
        (
            [SPEND, SPEND, SPEND, SLOW, EDIT, FINISH],
            limited(budget_usd=1.0),
            "its budget of $1.00",
        ),
        (
            [SPEND, SPEND, SPEND, SLOW, EDIT, FINISH],
            limited(max_turns=2, budget_usd=50.0),
            "its limit of 2 turns",
        ),
        (
            [{"usage": {"usd": 0.4, "in": 100, "out": 100}}, SLOW, EDIT, FINISH],
            limited(max_tokens=7, budget_usd=50.0),  # far less than a call takes
            "That much again is already used: continuing allows 400 tokens in all",
        ),
    ],
)
def test_reaching_a_limit_parks_and_asks_and_the_same_work_goes_on(
    world: World, work: list[Any], limits: Any, said: str
) -> None:
    world.scenario(plan=[PLAN], work=work)
    spec = world.spec(limits=limits)
    assert world.run(spec).why == "limit"
    question = world.only("QuestionAsked")
    assert said in question.text
    assert question.asker == ("budget" if "budget" in said else "limit")
    world.scenario(plan=[PLAN], work=awake(*work))
    world.answer(spec, "1")
    assert world.ended().ending is Ending.SUCCEEDED
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "work"]


def test_the_calls_of_an_agent_that_nothing_meters_are_its_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AGENT, "metering", Metering.AGENT)
    world.scenario(plan=[PLAN], work=[{"run": "true"}, {"run": "true"}, {"run": "true"}, SLOW, EDIT, FINISH])
    assert world.run(world.spec(limits=limited(max_turns=3, budget_usd=50.0))).why == "limit"
    asked = world.only("QuestionAsked").text
    assert ("its limit of 3 turns" in asked, "$0.00 as the agent reports" in asked) == (True, True)


def test_working_time_is_a_limit_as_well(world: World) -> None:
    clock = world.clock = Leap()
    work = [{"progress": "Busy"}, SLOW, EDIT, FINISH]
    world.scenario(plan=[PLAN], work=work)
    spec = world.spec(limits=limited(silence_s=0))
    world.meanwhile(spec, "Busy", lambda: setattr(clock, "ahead_s", LIMITS.timeout_s))
    assert world.events()[-1].why == "limit"
    assert "its time of 4 min" in world.only("QuestionAsked").text
    world.scenario(plan=[PLAN], work=awake(*work))
    world.answer(spec, "1")
    assert world.ended().ending is Ending.SUCCEEDED
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "work"]


def test_a_run_whose_limit_was_not_raised_ends(world: World) -> None:
    world.scenario(plan=[PLAN], work=[SPEND, SPEND, SPEND, SLOW, EDIT, FINISH])
    spec = world.spec(limits=LIMITS)
    world.run(spec)
    world.answer(spec, "Stop here")
    assert (world.ended().ending, world.ended().reason) == (Ending.CANCELLED, "stopped")


def test_checks_that_keep_failing_park_and_ask(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], repair=[{"run": "date +%N > n"}])
    spec = world.spec(validation=checks(fast=["echo wrong; exit 4"]), limits=limited(iterations=2))
    assert world.run(spec).why == "limit"
    assert [ended.iteration for ended in world.of("ValidationEnded")] == [1, 2]
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "repair-1"]
    assert world.of("CommandChecked")[0].tail == "wrong"
    world.answer(spec, "2")
    assert world.ended().reason == "stopped"


def test_full_checks_run_only_so_often(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], repair=[{"run": "date +%N > n"}])
    limits = limited(iterations=9, full_runs=2)
    spec = world.spec(validation=checks(full=["false"]), limits=limits)
    assert world.run(spec).why == "limit"
    assert len(world.of("CommandChecked")) == 2


def test_a_change_that_is_too_large_is_published_only_when_people_say_so(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"edit": {"path": "b", "content": "1\n2\n"}}, FINISH])
    spec = world.spec(limits=limited(files_changed=1))
    assert world.run(spec).why == "limit"
    assert "2 files of at most 1" in world.only("QuestionAsked").text
    assert world.of("BranchPushed") == []
    world.answer(spec, "publish it anyway")
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show("b") == "1\n2"


def test_what_checks_leave_behind_is_not_published(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    world.run(world.spec(validation=checks(fast=["echo junk > junk; echo x >> README.md"], full=["true"])))
    assert world.ended().ending is Ending.SUCCEEDED
    exported = world.only("BranchExported")
    assert (exported.files_changed, len(exported.files)) == (1, 1)


def test_a_check_that_hangs_counts_as_failed(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], repair=[])
    world.clock = Still()  # for the agent; a check has time of its own
    limits = limited(timeout_s=1, iterations=1)
    spec = world.spec(validation=checks(fast=["sleep 100"]), limits=limits)
    assert world.run(spec).why == "limit"
    assert world.only("CommandChecked").exit_code == 124


def test_words_lift_no_limit_and_reach_the_agent_once_somebody_has_chosen(world: World) -> None:
    work = [SPEND, SPEND, SPEND, SLOW, {"say": "{{prompt}}"}, EDIT, FINISH]
    world.scenario(plan=[PLAN], work=work)
    spec = world.spec()
    world.run(spec)
    assert world.answer(spec, "Go on, but leave the tests alone").why == "limit"
    world.write(RunSteered(spec.run_id, "ann", "Go on, but leave the tests alone", 7))
    world.scenario(plan=[PLAN], work=awake(*work))
    world.answer(spec, "1")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert "Go on, but leave the tests alone" in world.only("AgentSaid").text
    assert {turn.turn for turn in world.of("TurnStarted")} == {"plan", "work"}


def test_words_about_failing_checks_are_heeded_before_they_run_again(world: World) -> None:
    mend = {"edit": {"path": "hello.txt", "content": "Moin\n"}}
    world.scenario(plan=[PLAN], work=[EDIT, FINISH], heed=[{"say": "{{prompt}}"}, mend])
    spec = world.spec(validation=checks(fast=["grep Moin hello.txt"]), limits=limited(iterations=1))
    world.run(spec)
    world.answer(spec, "It must say Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert "It must say Moin" in world.only("AgentSaid").text
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "heed-r1-q1"]


def test_words_about_a_large_change_are_no_leave_to_publish_it(world: World) -> None:
    world.scenario(
        plan=[PLAN], work=[EDIT, {"edit": {"path": "b", "content": "1\n"}}, FINISH], heed=[{"run": "rm b"}]
    )
    spec = world.spec(limits=limited(files_changed=1))
    world.run(spec)
    world.answer(spec, "Drop the second file first")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.of("BranchExported")[-1].files_changed == 1


def test_words_that_changed_nothing_lead_to_the_same_question_again(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"edit": {"path": "b", "content": "1\n"}}, FINISH])
    spec = world.spec(limits=limited(files_changed=1))
    world.run(spec)
    assert world.answer(spec, "Drop the second file first").why == "limit"
    assert world.of("BranchPushed") == []


ASKS = {"ask": {"question": "Which colour?", "choices": ["Green", "Red"]}}


def test_an_answer_to_the_agent_leaves_the_run_its_budget(world: World) -> None:
    world.scenario(plan=[PLAN], work=[ASKS, SPEND, SPEND, SPEND, SPEND, SPEND, SLOW, EDIT, FINISH])
    spec = world.spec(limits=limited(budget_usd=1.0))
    assert world.run(spec).why == "question"
    assert world.answer(spec, "green, please").why == "limit"
    assert world.only("QuestionAsked", newest=True).subject == "budget"


def test_an_agent_that_offers_a_choice_of_cardinals_is_told_so_and_asks_nobody(world: World) -> None:
    sly = {"ask": {"question": "?", "choices": ["Continue, with the same limits again", "Stop here"]}}
    world.scenario(plan=[PLAN], work=[sly, EDIT, FINISH])
    world.run(world.spec())
    assert world.of("QuestionAsked") == []
