"""`/cardinal approve`: the plan is approved and the run goes on, where one waits."""

from datetime import timedelta

import pytest

from ledger.states import RunState
from rules.intents import ApprovePlan, RequeueRun, Say, WriteRunComment
from rules.snapshot import Snapshot
from tests.rules.commands.cases import obeyed, told
from tests.rules.scene import CARD, NOW, R1, asks, card, ended, given, kinds, only, run

WAITING = card(run=run(RunState.AWAITING_APPROVAL))


def test_it_approves_the_plan_and_lets_the_run_go_on() -> None:
    assert obeyed("approve", WAITING) == (ApprovePlan(CARD, R1, "bob"), RequeueRun(CARD, R1, "approved"))


def test_a_ticked_box_approves_and_is_written_anew() -> None:
    intents = asks(WAITING, given("approve", source="box:approve:r1:1"))
    assert intents[-1] == WriteRunComment(CARD, R1)
    assert ApprovePlan(CARD, R1, "bob") in intents


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(), "No run is alive"),
        (card(run=ended()), "No run is alive"),
        (card(run=run(plan_approved=True)), "its plan is approved already"),
        (card(run=run(plan_required=False, plan_approved=False)), "needs no approval"),
        (card(run=run(RunState.PLANNING, plan_approved=False, plan_revision=0)), "has no plan that waits"),
        (card(run=run(RunState.PLANNING, plan_approved=False, plan_revision=1)), "has no plan that waits"),
    ],
)
def test_where_no_plan_waits_it_says_so(snapshot: Snapshot, said: str) -> None:
    assert said in told("approve", snapshot)


@pytest.mark.parametrize("box", ["box:approve:r1:2", "box:approve:r0:1"])
def test_a_box_approves_only_the_plan_that_it_stands_under(box: str) -> None:
    intents = asks(WAITING, given("approve", source=box))
    assert "older plan" in only(intents, Say).text
    assert "ApprovePlan" not in kinds(intents)


def test_a_word_from_before_the_plan_does_not_approve_it() -> None:
    waiting = card(run=run(RunState.AWAITING_APPROVAL, plan_revision=2, plan_at=NOW))
    early = NOW - timedelta(seconds=6)
    assert "Plan 2 was posted after" in told("approve", waiting, said_at=early)
    assert obeyed("approve", waiting, said_at=NOW)[0] == ApprovePlan(CARD, R1, "bob")
