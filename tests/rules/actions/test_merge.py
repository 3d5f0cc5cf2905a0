"""merge: the pull request is merged on entry, guarded by its head."""

from typing import Any

import pytest

from ledger.events.board import CardMoved
from ledger.states import CardState, Ending
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import MarkReady, MergePull, Say
from tests.rules import scene
from tests.rules.scene import CARD, asks, card, ended, kinds, only, pull, states

MOVED = CardMoved(CARD, "QA", "Done", by_cardinal=False)
APPROVED = CardState.APPROVED
YES: dict[str, Any] = {"verdict": "approved", "approved_head": "abc123"}


def test_an_open_pull_request_is_merged_and_the_card_is_done_only_afterwards() -> None:
    intents = asks(card("Done", APPROVED, run=ended(), pull=pull(), **YES), MOVED)
    assert kinds(intents) == ["MergePull", "CardExplained", "WriteCheck"]
    merge = only(intents, MergePull)
    assert (merge.method, merge.head, merge.requires) == ("squash", "abc123", "approved")


@pytest.mark.parametrize(
    ("reviews", "said"),
    [
        ({}, "no one with write access has approved it. Have it approved, then drag"),
        ({"verdict": "changes_requested"}, "requested changes"),
        ({"verdict": "approved", "approved_head": "0ld0ld0"}, "approved commit 0ld0l"),
        ({"verdict": "approved"}, "approved another commit"),
    ],
)
def test_what_was_not_approved_as_it_is_is_not_merged_and_says_so(reviews: dict[str, Any], said: str) -> None:
    intents = asks(card("Done", APPROVED, run=ended(), pull=pull(), **reviews), MOVED)
    assert "MergePull" not in kinds(intents)
    assert states(intents) == [CardState.BLOCKED]
    assert said in only(intents, Say).text
    assert "/cardinal retry" in only(intents, Say).text


def test_a_policy_may_merge_without_a_review_but_never_against_one() -> None:
    free = scene.policy("Done: {archetype: terminal, on_entry: [{action: merge, requires: none}]}")
    intents = asks(card("Done", CardState.IN_REVIEW, run=ended(), pull=pull()), MOVED, by=free)
    assert only(intents, MergePull).requires == "none"
    against = card("Done", CardState.IN_REVIEW, run=ended(), pull=pull(), verdict="changes_requested")
    assert "MergePull" not in kinds(asks(against, MOVED, by=free))


def test_a_finished_draft_is_made_ready_first() -> None:
    intents = asks(card("Done", APPROVED, run=ended(), pull=pull(draft=True), **YES), MOVED)
    assert kinds(intents) == ["MarkReady", "MergePull", "CardExplained", "WriteCheck"]
    assert only(intents, MarkReady).about


def test_a_draft_whose_work_is_not_finished_is_not_merged() -> None:
    intents = asks(card("Done", APPROVED, run=ended(Ending.CANCELLED), pull=pull(draft=True)), MOVED)
    assert "MergePull" not in kinds(intents)
    assert "could not be merged" in only(intents, ChangeCardState).because
    assert states(intents) == [CardState.BLOCKED]


def test_without_a_pull_request_the_card_is_done_at_once() -> None:
    assert states(asks(card("Done", APPROVED), MOVED)) == [CardState.DONE]


def test_an_investigation_finishes_no_work() -> None:
    looked = ended(mode="investigate")
    intents = asks(card("Done", APPROVED, run=looked, pull=pull(draft=True), **YES), MOVED)
    assert "MergePull" not in kinds(intents)
    assert "its work is not finished" in only(intents, ChangeCardState).because
