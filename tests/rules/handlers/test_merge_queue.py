"""What a merge queue asks for, and what the card says while it waits there."""

from dataclasses import replace

import pytest

from ledger.events.board import CardExplained
from ledger.events.pull import GroupFormed, GroupGone
from ledger.events.run import RunEnded
from ledger.ids import RunId
from ledger.states import CardState, Ending, Gate, Reason
from rules.handlers.merge_queue import WAITS
from rules.intents.outbound import CancelMerge, CheckGroup
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, a_check, asks, card, ended, kinds, only, pull, run

FORMED = GroupFormed(CARD, 5, "d" * 40)
QUEUED = WAITS["queue"].format(number=5)


def test_the_queue_gets_its_check_and_the_card_says_that_it_waits_there() -> None:
    asked = asks(card("Done", CardState.BLOCKED, run=ended(), pull=pull()), FORMED)
    assert only(asked, CheckGroup) == CheckGroup(CARD, 5, "d" * 40)
    assert only(asked, CardExplained).because == QUEUED


def test_a_card_with_a_live_run_says_what_the_run_does() -> None:
    assert kinds(asks(card(run=run(), pull=pull()), FORMED)) == ["CheckGroup"]


@pytest.mark.parametrize("seen", [card(), card(pull=pull("merged")), card(pull=pull(number=6))])
def test_a_group_of_another_pull_request_asks_for_nothing(seen: Snapshot) -> None:
    assert asks(seen, FORMED) == ()


@pytest.mark.parametrize(
    ("reason", "known", "awaits", "says"),
    [
        ("dequeued", Reason.MERGE_QUEUE, "", "has left GitHub's merge queue"),
        ("dequeued", Reason.MERGE_QUEUE, "queue", ""),
        ("dequeued", Reason.OTHER, "", ""),
        ("merged", Reason.MERGE_QUEUE, "", ""),
        ("invalidated", Reason.MERGE_QUEUE, "", ""),
    ],
)
def test_a_card_that_left_the_queue_does_not_say_that_it_waits(
    reason: str, known: Reason, awaits: str, says: str
) -> None:
    snapshot = card("Done", CardState.BLOCKED, run=ended(), pull=pull(awaits=awaits), reason=known)
    asked = asks(snapshot, GroupGone(CARD, 5, "d" * 40, reason))
    assert [says in one.because for one in asked if isinstance(one, CardExplained)] == (
        [True] if says else []
    )


def test_a_merge_that_waits_is_taken_back_when_the_checks_fail_on_its_commit() -> None:
    waits = pull(awaits="auto", awaited_head="abc123", gate=Gate.FAILED)
    snapshot = card("Done", CardState.BLOCKED, run=ended(), pull=waits, verdict="approved", beside=a_check())
    failed = RunEnded(RunId("r5"), Ending.FAILED, "validation", "", "validating")
    assert only(asks(snapshot, failed), CancelMerge).because == "the checks failed on its commit"
    passed = replace(snapshot, pull=replace(waits, gate=Gate.PASSED))
    assert "CancelMerge" not in kinds(asks(passed, RunEnded(RunId("r5"), Ending.SUCCEEDED, "", "", "")))
