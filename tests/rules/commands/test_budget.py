"""`/cardinal budget +2`: more dollars, and the run that ran out of its own goes on."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.budget import BudgetRaised
from ledger.events.run import RunRequeued
from ledger.rows.limit_answers import Code, budget_answer
from ledger.states import RunState, StopKind
from rules.chatops.parser import Parsed, of_box, parse, permit
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import (
    NOW,
    POLICY,
    QUESTION,
    R1,
    answer_to,
    asks,
    card,
    ended,
    given,
    kinds,
    only,
    run,
)

BROKE = replace(QUESTION, asker="budget", choices=("Continue, with the same limits again", "Stop here"))
PARKED = card(run=run(RunState.PARKED), questions=(BROKE,))
BOX = "box:budget:r1:2.00"


@pytest.mark.parametrize(
    ("text", "usd"), [("+2", 2.0), ("+2.50", 2.5), ("$2", 2.0), ("+$0.01", 0.01), ("1000", 1000.0)]
)
def test_a_run_at_work_gets_the_dollars(text: str, usd: float) -> None:
    assert handled("budget", card(run=run()), text) == (BudgetRaised(R1, usd, "bob"),)


@pytest.mark.parametrize(
    "text",
    ["", "-2", "+0", "0.001", "1000.01", "lots", "2 USD", "+2; rm -rf /", "١", "1e3", "2,50", "nan"],
)
def test_junk_is_refused_with_an_example(text: str) -> None:
    assert "`/cardinal budget +2`" in told("budget", card(run=run()), text)


def test_a_run_that_waits_for_dollars_gets_them_as_its_answer_and_goes_on() -> None:
    assert handled("budget", PARKED, "+2") == (
        BudgetRaised(R1, 2.0, "bob"),
        answer_to(BROKE, budget_answer(2), Code.RAISED),
        RunRequeued(R1, "answered"),
    )


def test_a_run_that_waits_for_something_else_still_waits_and_says_so() -> None:
    snapshot = card(run=run(RunState.PARKED), questions=(replace(BROKE, asker="limit"),))
    added, said = handled("budget", snapshot, "+2")
    assert added == BudgetRaised(R1, 2.0, "bob")
    assert isinstance(said, Say)
    assert "still needs an answer" in said.text


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(), "No run is active"),
        (card(run=ended()), "No run is active"),
        (card(run=run(stop_asked=StopKind.CANCEL)), "being cancelled"),
    ],
)
def test_where_no_dollars_are_needed_it_says_so(snapshot: Snapshot, said: str) -> None:
    assert said in told("budget", snapshot, "+2")


def test_a_ticked_box_is_the_same_command() -> None:
    assert of_box("budget:r1:2.00") == Parsed("budget", "+2.00")
    intents = asks(PARKED, given("budget", "+2.00", source=BOX))
    assert kinds(intents) == ["BudgetRaised", "QuestionAnswered", "RunRequeued", "WriteRunComment"]


@pytest.mark.parametrize("source", ["box:budget:r9:2.00", BOX])
def test_a_box_that_is_ticked_too_late_adds_nothing(source: str) -> None:
    snapshot = card(run=run(RunState.QUEUED)) if source == BOX else PARKED
    intents = asks(snapshot, given("budget", "+2.00", source=source))
    assert "BudgetRaised" not in kinds(intents)
    assert "nothing was added" in only(intents, Say).text


def test_a_box_that_was_ticked_before_the_question_adds_nothing_to_it() -> None:
    parked = card(run=run(RunState.PARKED), questions=(replace(BROKE, asked_at=NOW),))
    for before_s, added in ((60, False), (0, True)):
        said_at = NOW - timedelta(seconds=before_s)
        intents = asks(parked, given("budget", "+2.00", source=BOX, said_at=said_at))
        assert ("BudgetRaised" in kinds(intents)) is added


@pytest.mark.parametrize(("role", "may"), [("write", False), ("maintain", True), ("none", False)])
def test_it_takes_the_role_maintain(role: str, *, may: bool) -> None:
    parsed = parse("/cardinal budget +2")
    assert isinstance(parsed, Parsed)
    assert (type(permit(POLICY, parsed, role=role, login="bob")).__name__ == "Permitted") is may
