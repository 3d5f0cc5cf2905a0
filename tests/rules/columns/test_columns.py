"""Entering each archetype (inbox, planning, execution, review, terminal): the state that the card takes."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.event import RuleEvent
from ledger.events.board import CardDescribed, CardMoved
from ledger.states import CardState, Ending
from rules.columns.review import changes_asked
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import AskAssistant, ConvertDraft, Intent
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, asks, card, ended, kinds, only, pull, states

S = CardState


def enters(snapshot: Snapshot, before: str = "Elsewhere") -> tuple[Intent | RuleEvent, ...]:
    return asks(snapshot, CardMoved(CARD, before, snapshot.column, by_cardinal=False))


@pytest.mark.parametrize("column", ["Tasks", "Parking", None])
@pytest.mark.parametrize("state", [S.WORK_COMPLETE, S.DISCUSSING, S.DONE, S.BLOCKED, S.ARCHIVED])
def test_in_an_inbox_every_card_is_a_draft(column: str | None, state: CardState) -> None:
    assert states(enters(card(column, state))) == [S.DRAFT]


@pytest.mark.parametrize(
    ("snapshot", "upto"),
    [
        (card("Planning", S.DRAFT), 0),
        (card("Planning", S.DRAFT, body="", last_said=7), 7),
        (card("Planning", S.DRAFT, last_said=9, last_answered=7), 9),
    ],
)
def test_in_planning_the_assistant_answers_what_was_said(snapshot: Snapshot, upto: int) -> None:
    intents = enters(snapshot)
    assert only(intents, AskAssistant) == AskAssistant(CARD, upto)
    assert states(intents) == [S.DISCUSSING]


@pytest.mark.parametrize(
    "snapshot",
    [
        card("Planning", S.DRAFT, body="  \n"),
        card("Planning", S.DRAFT, last_said=7, last_answered=7),
    ],
)
def test_in_planning_nothing_new_gets_no_answer(snapshot: Snapshot) -> None:
    assert "AskAssistant" not in kinds(enters(snapshot))


def test_in_planning_a_draft_that_says_something_is_made_an_issue() -> None:
    draft = card("Planning", S.DRAFT, repository=None, number=None)
    assert only(enters(draft), ConvertDraft) == ConvertDraft(CARD)


def test_in_planning_a_description_that_comes_later_is_answered() -> None:
    event = CardDescribed(CARD, "t", "Now it says something", ())
    assert kinds(asks(card("Planning", S.DISCUSSING), event)) == ["AskAssistant"]
    assert asks(card("Planning", S.DISCUSSING, brief="Do it"), event) == ()
    assert asks(card("Tasks", S.DRAFT), event) == ()


APPROVING: dict[str, Any] = {"verdict": "approved", "approved_head": "abc123"}


@pytest.mark.parametrize(
    ("snapshot", "state"),
    [
        (card("Review", S.WORK_COMPLETE, run=ended(), pull=pull()), S.IN_REVIEW),
        (card("Review", S.WORK_COMPLETE, run=ended(), pull=pull(), **APPROVING), S.APPROVED),
        (card("Review", S.WORK_COMPLETE, run=ended(), pull=pull(), pending_threads=1), S.CHANGES_REQUESTED),
        (card("Review", S.NEEDS_INPUT, run=ended(), pull=pull(), **APPROVING), S.APPROVED),
        (card("Review", S.FAILED, run=ended(Ending.FAILED)), S.IN_REVIEW),
        (card("Review", S.WORK_COMPLETE, run=ended(), pull=pull("closed")), S.BLOCKED),
        (card("Review", S.BLOCKED, run=ended(), pull=pull("closed"), closed="completed"), S.IN_REVIEW),
        (card("QA", S.WORK_COMPLETE, run=ended(), pull=pull("merged")), S.APPROVED),
    ],
)
def test_in_review_the_verdict_is_the_state(snapshot: Snapshot, state: CardState) -> None:
    assert states(enters(snapshot))[-1:] == [state]


def test_a_revision_that_is_done_waits_for_a_new_look_though_the_old_verdict_stands() -> None:
    snapshot = card("Review", S.WORK_COMPLETE, run=ended(), pull=pull(), verdict="changes_requested")
    assert states(enters(replace(snapshot, served=True))) == [S.IN_REVIEW]
    assert states(enters(snapshot)) == [S.CHANGES_REQUESTED]


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (card("Done", S.APPROVED, pull=pull("merged")), [S.DONE]),
        (card("Done", S.DRAFT), [S.DONE]),
        (
            card("Done", S.APPROVED, run=ended(), pull=pull(), verdict="approved", approved_head="abc123"),
            [],
        ),
    ],
)
def test_in_a_terminal_column_a_card_is_done_when_nothing_is_left_to_merge(
    snapshot: Snapshot, expected: list[CardState]
) -> None:
    assert states(enters(snapshot)) == expected


def test_a_card_says_its_reason_when_its_state_changes() -> None:
    assert only(enters(card("Tasks", S.DONE)), ChangeCardState).because.startswith("nothing runs")


@pytest.mark.parametrize("mode", ["scratch", "folder"])
def test_in_review_a_card_without_a_repository_names_what_to_read_and_how_to_send_it_back(mode: str) -> None:
    intents = enters(card("Review", S.WORK_COMPLETE, run=ended(mode=mode)), before="In Progress")
    assert states(intents) == [S.IN_REVIEW]
    because = only(intents, ChangeCardState).because
    assert because.startswith("read the report and files of r1, then drag the card to Done")
    assert because.endswith("drag the card to In Progress and say /cardinal retry")


@pytest.mark.parametrize(
    ("pending", "said"),
    [(0, "the requested changes"), (1, "the thread"), (2, "the 2 threads")],
)
def test_changes_that_a_review_asks_for_are_named_in_full(pending: int, said: str) -> None:
    asked = card(
        "Review", S.IN_REVIEW, run=ended(), pull=pull(), verdict="changes_requested", pending_threads=pending
    )
    assert changes_asked(asked) == f"drag the card to In Progress and an agent works on {said}"
