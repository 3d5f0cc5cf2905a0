"""`/cardinal approve`: the plan is approved and the run goes on, where one waits."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledger.events.run import PlanApproved, PlanRebound, PlanRedirected, RunRequeued
from ledger.rows.limit_answers import Code
from ledger.states import RunState
from rules.intents.outbound import Say, UntickBoxes, WriteRunComment
from rules.runs.plan_approval import digest_of_plan, issue_digest
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import (
    CARD,
    NOW,
    QUESTION,
    R1,
    a_plan,
    answer_to,
    asks,
    card,
    ended,
    given,
    kinds,
    only,
    run,
)

KNOWN = issue_digest("Add login", "As a user")
WAITING = card(run=run(RunState.AWAITING_APPROVAL))
BOUND = card(
    run=run(RunState.AWAITING_APPROVAL),
    plan=a_plan(base="a" * 40, policy="policy"),
    briefed=KNOWN,
    policy_digest="policy",
)


def test_it_approves_the_plan_and_lets_the_run_go_on() -> None:
    approved, requeued = handled("approve", WAITING)
    assert isinstance(approved, PlanApproved)
    assert (approved.run_id, approved.by, requeued) == (R1, "bob", RunRequeued(R1, "approved"))


def test_a_ticked_box_approves_and_is_written_anew() -> None:
    intents = asks(WAITING, given("approve", source="box:approve:r1:1"))
    assert intents[-1] == WriteRunComment(CARD, R1)
    assert "PlanApproved" in kinds(intents)


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(), "No run is active"),
        (card(run=ended()), "No run is active"),
        (card(run=run(plan_approved=True)), "its plan is approved already"),
        (card(run=run(plan_required=False, plan_approved=False)), "needs no approval"),
        (
            card(run=run(RunState.PLANNING, plan_approved=False, plan_revision=0)),
            "has no plan to approve yet",
        ),
        (
            card(run=run(RunState.PLANNING, plan_approved=False, plan_revision=1)),
            "has no plan to approve yet",
        ),
    ],
)
def test_where_no_plan_waits_it_says_so(snapshot: Snapshot, said: str) -> None:
    assert said in told("approve", snapshot)


@pytest.mark.parametrize("box", ["box:approve:r1:2", "box:approve:r0:1"])
def test_a_box_approves_only_the_plan_that_it_stands_under(box: str) -> None:
    intents = asks(WAITING, given("approve", source=box))
    assert "older plan" in only(intents, Say).text
    assert "PlanApproved" not in kinds(intents)


def test_a_word_from_before_the_plan_does_not_approve_it() -> None:
    waiting = card(run=run(RunState.AWAITING_APPROVAL, plan_revision=2), plan=a_plan(at=NOW))
    early = NOW - timedelta(seconds=6)
    assert "Plan 2 was posted after" in told("approve", waiting, said_at=early)
    assert kinds(handled("approve", waiting, said_at=NOW))[0] == "PlanApproved"


def test_what_is_approved_is_bound_by_its_digest() -> None:
    assert BOUND.plan is not None
    intents = handled("approve", BOUND, base="a" * 40)
    digest = only(intents, PlanApproved).bound
    assert digest == digest_of_plan(BOUND)
    changes: tuple[dict[str, Any], ...] = ({"summary": "x"}, {"steps": ()}, {"base": "x"}, {"policy": "x"})
    for changed in changes:
        assert digest_of_plan(replace(BOUND, plan=replace(BOUND.plan, **changed))) != digest
    assert digest_of_plan(replace(BOUND, briefed="x")) != digest


def test_a_plan_for_another_text_is_not_approved_but_made_anew() -> None:
    edited = replace(BOUND, body="As an admin")
    intents = handled("approve", edited, base="a" * 40)
    assert kinds(intents) == ["PlanRedirected", "RunRequeued", "Say"]
    assert only(intents, PlanRedirected).by == "Cardinal"
    assert only(intents, RunRequeued).why == "redirected"
    assert "the issue's text changed since it was made" in only(intents, Say).text


@pytest.mark.parametrize(
    ("waiting", "base", "said"),
    [
        (BOUND, "b" * 40, "the default branch went from `aaaaaaaaaa` to `bbbbbbbbbb`"),
        (replace(BOUND, policy_digest="other"), "a" * 40, "since it was made, the policy has changed"),
    ],
)
def test_on_another_base_or_policy_it_has_to_be_approved_again(
    waiting: Snapshot, base: str, said: str
) -> None:
    intents = handled("approve", waiting, base=base)
    assert kinds(intents) == ["PlanRebound", "Say"]
    assert said in only(intents, Say).text
    told_of = only(intents, PlanRebound)
    assert waiting.plan is not None
    again = replace(waiting, plan=replace(waiting.plan, base=told_of.base, policy=told_of.policy))
    assert kinds(handled("approve", again, base=base)) == ["PlanApproved", "RunRequeued"]


def test_a_box_that_was_ticked_for_something_stale_is_restored() -> None:
    intents = asks(BOUND, given("approve", source="box:approve:r1:1", base="b" * 40))
    assert only(intents, UntickBoxes).comment_id == 77
    assert "PlanApproved" not in kinds(intents)


def test_a_box_that_is_ticked_again_is_answered_again() -> None:
    ticks = [
        given("approve", source="box:approve:r1:1", said_at=at) for at in (NOW, NOW + timedelta(minutes=1))
    ]
    first, again = (only(asks(card(run=None), event), Say).about for event in ticks)
    assert first != again
    assert only(asks(card(run=None), ticks[0]), Say).about == first


STAGE = replace(QUESTION, asker="stage", choices=("Begin verify", "Stop here"), asked_at=NOW)
AT_A_STAGE = card(run=run(RunState.PARKED, plan_approved=True), questions=(STAGE,))


def test_it_lets_the_stage_begin_that_waits() -> None:
    assert handled("approve", AT_A_STAGE) == (
        answer_to(STAGE, "Begin verify", Code.GO_ON),
        RunRequeued(R1, "answered"),
    )


def test_a_word_from_before_a_stage_was_asked_about_does_not_let_it_begin() -> None:
    late = given("approve", said_at=NOW - timedelta(seconds=6))
    assert "was posted after you wrote that" in only(asks(AT_A_STAGE, late), Say).text


@pytest.mark.parametrize("source", ["box:approve:r1:1", "button:approve:r1:1"])
def test_a_box_or_button_of_the_plan_lets_no_stage_begin(source: str) -> None:
    intents = asks(AT_A_STAGE, given("approve", source=source))
    assert "QuestionAnswered" not in kinds(intents)
