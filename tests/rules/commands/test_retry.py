"""`/cardinal retry`: another run starts, or a revision where a review asked for something."""

from datetime import timedelta
from typing import Any

import pytest

from ledger.states import CardState, Ending, RunKind
from rules.intents.internal import QueueRun
from rules.intents.outbound import MergePull
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, NOW, card, ended, kinds, only, pull, run


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.CANCELLED, Ending.LOST, Ending.SUCCEEDED])
@pytest.mark.parametrize("approved", [True, False])
def test_a_run_follows_one_that_ended_and_an_approved_plan_stays_approved(
    ending: Ending, approved: bool
) -> None:
    snapshot = card(run=ended(ending, plan_approved=approved))
    assert handled("retry", snapshot) == (
        QueueRun(CARD, RunKind.RETRY, "bob", plan_required=not approved, door="comment"),
    )


def test_a_card_without_a_run_gets_its_first() -> None:
    assert handled("retry", card()) == (
        QueueRun(CARD, RunKind.FIRST, "bob", plan_required=True, door="comment"),
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        card(run=ended(), pull=pull(), pending_threads=2),
        card(run=ended(), pull=pull(), verdict="changes_requested"),
        card(run=ended(Ending.FAILED, kind=RunKind.REVISION), pull=pull(), verdict="changes_requested"),
    ],
)
def test_feedback_makes_it_a_revision(snapshot: Snapshot) -> None:
    assert handled("retry", snapshot) == (
        QueueRun(CARD, RunKind.REVISION, "bob", plan_required=False, door="comment"),
    )


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(run=run()), "r1 is already active"),
        (card("Review"), "drag the card to an execution column"),
        (card(run=ended(), pull=pull("merged")), "pull request #5 is merged"),
        (card("Done", run=ended(), pull=pull("merged")), "pull request #5 is merged"),
        (card(closed="completed"), "the issue is closed: reopen it"),
        (card(archived=True), "the card left the board"),
    ],
)
def test_where_no_run_may_start_it_says_why(snapshot: Snapshot, said: str) -> None:
    assert said in told("retry", snapshot)


def test_in_a_terminal_column_it_tries_the_merge_again() -> None:
    approved: dict[str, Any] = {"verdict": "approved", "approved_head": "abc123"}
    intents = handled("retry", card("Done", CardState.BLOCKED, run=ended(), pull=pull(), **approved))
    assert kinds(intents) == ["MergePull", "CardExplained"]
    assert only(intents, MergePull).head == "abc123"


def test_what_was_said_before_the_newest_run_starts_no_other_one() -> None:
    snapshot = card(run=ended(Ending.FAILED), begun=(NOW,))
    assert "before the newest run" in told("retry", snapshot, said_at=NOW - timedelta(minutes=1))
    assert isinstance(only(handled("retry", snapshot, said_at=NOW), QueueRun), QueueRun)
