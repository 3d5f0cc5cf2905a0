"""start_run: entering an execution column hires an agent, where there is something to do."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.board import CardConverted, CardMoved, CardReplaced, CardSeen
from ledger.ids import CardId
from ledger.states import CardState, Ending, RunKind
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import ConvertDraft
from rules.snapshot import Snapshot
from tests.rules import scene
from tests.rules.scene import BOARD, CARD, NOW, POLICY, asks, card, ended, given, kinds, only, pull, states

MOVED = CardMoved(CARD, "Planning", "In Progress", by_cardinal=False)
S = CardState


@pytest.mark.parametrize(
    ("snapshot", "kind", "plan"),
    [
        (card(state=S.DISCUSSING), "first", True),
        (card(state=S.FAILED, run=ended(Ending.FAILED)), "retry", False),
        (card(state=S.FAILED, run=ended(Ending.FAILED, plan_approved=False)), "retry", True),
        (card(state=S.BLOCKED, run=ended(Ending.CANCELLED)), "retry", False),
        (
            card(state=S.CHANGES_REQUESTED, run=ended(), pull=pull(), verdict="changes_requested"),
            "revision",
            False,
        ),
        (
            card(state=S.APPROVED, run=ended(), pull=pull(), verdict="approved", pending_threads=1),
            "revision",
            False,
        ),
        (
            card(
                state=S.CHANGES_REQUESTED,
                run=ended(kind=RunKind.REVISION),
                pull=pull(),
                verdict="changes_requested",
            ),
            "revision",
            False,
        ),
    ],
)
def test_a_card_that_is_dragged_in_gets_the_run_that_fits(snapshot: Snapshot, kind: str, plan: bool) -> None:
    assert only(asks(snapshot, MOVED), QueueRun) == QueueRun(
        CARD, RunKind(kind), "alice", plan_required=plan, door="board"
    )


@pytest.mark.parametrize(
    ("snapshot", "state", "said"),
    [
        (
            card(state=S.IN_REVIEW, run=ended(), pull=pull()),
            S.WORK_COMPLETE,
            "nothing new to do; /cardinal retry",
        ),
        (
            card(state=S.IN_REVIEW, run=ended(), pull=pull(), verdict="changes_requested", served=True),
            S.WORK_COMPLETE,
            "nothing new to do",
        ),
        (card(state=S.DONE, run=ended(), pull=pull("merged")), S.WORK_COMPLETE, "pull request #5 is merged"),
        (card(state=S.DISCUSSING, closed="completed"), S.WORK_COMPLETE, "the issue is closed: reopen it"),
    ],
)
def test_where_there_is_nothing_to_do_no_run_starts_and_it_says_why(
    snapshot: Snapshot, state: CardState, said: str
) -> None:
    intents = asks(snapshot, MOVED)
    assert "QueueRun" not in kinds(intents)
    assert states(intents) == [state]
    assert said in only(intents, ChangeCardState).because


def test_a_draft_is_made_an_issue_first_and_then_the_run_starts() -> None:
    draft = card(state=S.DRAFT, repository=None, number=None)
    assert asks(draft, MOVED) == (ConvertDraft(CARD),)
    converted = CardConverted(CARD, "I_1", "acme/shop", 12)
    assert kinds(asks(card(state=S.DRAFT), converted)) == ["QueueRun"]
    assert asks(card(run=scene.run()), converted) == ()


def test_the_card_in_the_place_of_a_draft_shows_its_face_and_its_run_starts_once() -> None:
    replaced = CardReplaced(CARD, CardId("PVTI_0"), "I_1", "acme/shop", 12)
    assert kinds(asks(card(state=S.DRAFT), replaced)) == ["UpdateFace", "QueueRun"]
    assert kinds(asks(card(run=scene.run()), replaced)) == ["UpdateFace"]


def test_a_card_that_is_first_seen_in_an_execution_column_starts_too() -> None:
    event = CardSeen(CARD, BOARD, "I_1", "acme/shop", 12, "t", "b", "alice", "In Progress", S.DRAFT)
    assert kinds(asks(card(state=S.DRAFT), event)) == ["QueueRun"]


def test_the_policy_may_do_without_a_plan_and_without_a_start() -> None:
    off = scene.policy("In Progress: {archetype: execution, plan_approval: off}")
    assert only(asks(card(state=S.DRAFT), MOVED, by=off), QueueRun).plan_required is False
    none = scene.policy("In Progress: {archetype: execution, on_entry: []}")
    assert states(asks(card(state=S.DRAFT), MOVED, by=none)) == [S.BLOCKED]


def test_a_card_that_has_moved_on_since_starts_nothing() -> None:
    assert asks(card("Review", S.IN_REVIEW), MOVED) == ()
    assert asks(card(archived=True, state=S.ARCHIVED), MOVED) == ()


def test_a_card_that_is_dragged_back_and_forth_by_a_machine_stops_hiring_agents() -> None:
    lately = tuple(NOW - timedelta(minutes=9 * n) for n in range(POLICY.limits.automatic_runs_per_hour))
    failed = card(state=S.FAILED, run=ended(Ending.FAILED), begun=lately)
    intents = asks(failed, MOVED)
    assert "QueueRun" not in kinds(intents)
    assert "within an hour" in only(intents, ChangeCardState).because
    assert "QueueRun" in kinds(asks(failed, given("retry"))), "a person's word always starts one"
    older = replace(failed, begun=(*lately[1:], NOW - timedelta(hours=2)))
    assert "QueueRun" in kinds(asks(older, MOVED))
