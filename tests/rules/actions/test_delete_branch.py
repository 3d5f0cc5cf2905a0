"""delete_branch: once the pull request is merged, by whomever."""

from ledger.events.board import CardMoved
from ledger.events.pull import PullChanged
from ledger.states import CardState, PullState
from rules.intents.outbound import DeleteBranch
from tests.rules.scene import CARD, asks, card, ended, kinds, only, pull, states

BRANCH = "cardinal/12-add-login"


def test_the_branch_goes_when_the_merge_is_seen() -> None:
    merged = card("Done", CardState.APPROVED, run=ended(), pull=pull("merged"))
    intents = asks(merged, PullChanged(CARD, 5, PullState.MERGED, False, "abc123"))
    assert only(intents, DeleteBranch) == DeleteBranch(CARD, BRANCH)
    assert states(intents) == [CardState.DONE]


def test_a_card_that_was_merged_by_hand_and_then_moved_loses_its_branch_too() -> None:
    intents = asks(
        card("Done", CardState.APPROVED, run=ended(), pull=pull("merged")),
        CardMoved(CARD, "Review", "Done", by_cardinal=False),
    )
    assert only(intents, DeleteBranch).branch == BRANCH


def test_an_open_or_closed_pull_request_keeps_its_branch() -> None:
    for state in ("open", "closed"):
        moved = CardMoved(CARD, "QA", "Done", by_cardinal=False)
        assert "DeleteBranch" not in kinds(asks(card("Done", run=ended(), pull=pull(state)), moved))


def test_a_column_without_the_action_keeps_the_branch() -> None:
    merged = card("Review", CardState.APPROVED, run=ended(), pull=pull("merged"))
    assert "DeleteBranch" not in kinds(asks(merged, PullChanged(CARD, 5, PullState.MERGED, False, "abc123")))
