"""What a run may spend: its own budget, what people added, and what its claim reserved of what is shared."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ledger.event import Event, Recorded
from ledger.events.agent import ToolServerCalled
from ledger.events.budget import BudgetRaised, BudgetReserved
from ledger.events.run import (
    PlanProposed,
    PlanTicked,
    RunClaimed,
    UsageMetered,
)
from ledger.ids import QuestionId, RunId
from ledger.rows.limit_answers import (
    ALLOW_CARD,
    GO_ON,
    PUBLISH,
    STOP,
    AnswerChoice,
    Code,
    Subject,
    answer_question,
    budget_answer,
    of_agent,
    question,
)
from ledger.states import Ending
from runner.run.history import History
from runner.run.limits import Allowance, ExceededLimit, RunUsage
from runner.run.run_spec import Limits
from tests.runner.flows.test_limits import SLOW, SPEND, awake
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, limited

R1, Q1 = RunId("r1"), QuestionId("r1-q1")
SPENT = RunUsage(60.0, 0.0, 2.03, 14, 9_000, 0)


def told(*events: Event) -> History:
    history = History()
    at = datetime(2026, 11, 21, tzinfo=UTC)
    history.take(Recorded(seq, "run:r1", seq, at, event) for seq, event in enumerate(events, start=1))
    return history


def usage(usd: float) -> UsageMetered:
    return UsageMetered(R1, usd, 1, 1, 1, 1.0)


def test_added_dollars_add_dollars_alone() -> None:
    allowed = Allowance(Limits(), added_usd=1.5)
    assert (allowed.bound_usd, allowed.times(Subject.BUDGET), allowed.remaining_usd(2.0)) == (3.5, 1, 1.5)
    assert allowed.find_exceeded(replace(SPENT, usd=3.49)) is None
    assert allowed.find_exceeded(replace(SPENT, usd=3.5)) is ExceededLimit.BUDGET
    assert Allowance(Limits(), ((Subject.BUDGET, 0),), 1.5).bound_usd == 5.5


def test_a_reservation_that_is_smaller_holds_sooner_and_says_by_which_limit() -> None:
    allowed = Allowance(Limits(), ceiling_usd=0.6, rule="usd_per_card", rule_usd=20.0)
    assert allowed.shared
    assert allowed.find_exceeded(replace(SPENT, usd=0.6)) is ExceededLimit.BUDGET
    assert allowed.remaining_usd(0.5) == pytest.approx(0.1)
    said = allowed.describe_reached(ExceededLimit.BUDGET, replace(SPENT, usd=0.61))
    assert said.startswith("what the card's budget of $20.00 left for it: $0.61 of $0.60")
    assert "Raising the run's own budget does not help" in allowed.advice()
    assert "`limits: {usd_per_card: …}`" in allowed.advice()


def test_a_limit_without_a_budget_of_the_runs_own_holds_as_well() -> None:
    allowed = Allowance(Limits(budget_usd=0), ceiling_usd=0.6, rule="usd_total", rule_usd=9)
    assert allowed.find_exceeded(replace(SPENT, usd=0.6)) is ExceededLimit.BUDGET
    assert allowed.shared
    assert Allowance(Limits(budget_usd=0)).find_exceeded(SPENT) is None


def test_a_whole_reservation_is_the_runs_own_budget() -> None:
    allowed = Allowance(Limits(), ceiling_usd=2.0 - 1e-12)
    assert not allowed.shared
    assert allowed.advice() == ""
    assert "its budget of $2.00: $2.03 of $2.00" in allowed.describe_reached(ExceededLimit.BUDGET, SPENT)


def test_the_ceiling_counts_from_where_the_claim_began_and_grows_with_a_raise_at_work() -> None:
    history = told(usage(1.0), RunClaimed(R1, 2, "w"), BudgetReserved(R1, 0.5, "usd_total", 9.0), usage(0.25))
    assert history.ceiling_usd == 1.5
    more = BudgetReserved(R1, 2.0, "", 0.0)
    history.take([Recorded(9, "run:r1", 9, datetime(2026, 11, 21, tzinfo=UTC), more)])
    assert (history.ceiling_usd, history.reserved) == (3.25, more)


def test_a_new_claim_without_a_reservation_knows_of_no_ceiling() -> None:
    claimed = told(RunClaimed(R1, 1, "w"), BudgetReserved(R1, 0.5, "", 0.0), RunClaimed(R1, 2, "w"))
    assert claimed.reserved is None


@pytest.mark.parametrize(
    ("answer", "extends", "words"),
    [(GO_ON.label, True, ""), ("1", True, ""), ("yes", True, ""), ("no", False, ""), (STOP.label, False, ""),
     ("only the tests", False, "only the tests")],
)  # fmt: skip
def test_what_an_answer_gives(answer: str, *, extends: bool, words: str) -> None:
    event = question(R1, Q1, Subject.BUDGET, "?", (GO_ON, STOP))
    reply = answer_question(event, by="ann", text=answer)
    (told_of,) = told(event, BudgetRaised(R1, 2.0, "ann"), reply).questions
    assert (told_of.extends, told_of.words) == (Subject.BUDGET if extends else None, words)


def test_dollars_that_a_command_added_are_no_words_and_nothing_on_top() -> None:
    event = question(R1, Q1, Subject.BUDGET, "?", (GO_ON, STOP))
    reply = answer_question(event, by="ann", text=budget_answer(2), code=Code.RAISED)
    history = told(event, BudgetRaised(R1, 2.0, "ann"), reply)
    assert (history.questions[0].extends, history.questions[0].words, history.added_usd) == (None, "", 2.0)


@pytest.mark.parametrize("choice", [GO_ON, PUBLISH, ALLOW_CARD])
def test_an_agents_question_extends_no_limit_and_lets_nothing_leave(choice: AnswerChoice) -> None:
    event = of_agent(R1, Q1, "The change is large: 60 files of at most 40.", (choice.label, STOP.label))
    (told_of,) = told(event, answer_question(event, by="ann", text="green, please")).questions
    assert (told_of.extends, told_of.code, told_of.is_own) == (None, Code.WORDS, False)
    (told_of,) = told(event, answer_question(event, by="ann", text="1")).questions
    assert (told_of.extends, told_of.code) == (None, Code.WORDS)
    assert not told_of.permits(Subject.TOOL, Code.ALLOW_ONCE, Code.ALLOW_CARD)


def test_the_question_says_what_was_spent_and_how_far_the_plan_is(world: World) -> None:
    work = [{"tick": 1}, SPEND, SPEND, SPEND, SLOW, EDIT, FINISH]
    world.scenario(plan=[PLAN], work=work)
    spec = world.spec(limits=limited(budget_usd=1.0))
    assert world.run(spec).why == "limit"
    asked = world.only("QuestionAsked")
    steps = len(next(iter(world.of("PlanProposed"))).steps)
    assert (asked.subject, asked.choices) == ("budget", (GO_ON.label, STOP.label))
    assert "its budget of $1.00: $" in asked.text
    assert f" turns so far; plan: 1 of {steps} steps done. Continue?" in asked.text
    world.write(BudgetRaised(spec.run_id, 50.0, "ann"))
    world.scenario(plan=[PLAN], work=awake(*work))
    world.answer(spec, budget_answer(50.0), Code.RAISED)
    assert world.ended().ending is Ending.SUCCEEDED
    assert [turn.turn for turn in world.of("TurnStarted")] == ["plan", "work", "work"]


def test_what_a_plan_ticked_is_what_the_question_counts() -> None:
    history = told(PlanProposed(R1, 1, "s", ("a", "b", "c")), PlanTicked(R1, 2))
    assert history.plan is not None
    assert history.plan.done == 2


def test_calls_of_tool_servers_count_over_all_claims_of_a_run() -> None:
    called = ToolServerCalled(R1, "docs", "find", 12, 15, 400, "ok")
    history = told(called, RunClaimed(R1, 1, "w1"), called, RunClaimed(R1, 2, "w2"))
    assert history.server_calls == 2
