"""GitHub's own workflows move cards: nobody's drag, whatever the policy lets them start elsewhere."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.board import CardArrived, CardMoved, CardSeen, IssueClosed, MoverFound
from ledger.events.pull import MergeAwaited, PullOpened
from ledger.events.run import RunEnded
from ledger.states import CardState, Ending, Gate, Reason, RunState
from rules.card.move_rights import PROJECT_BOT, is_by_workflow
from rules.card.state import derive
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import CancelMerge, Say
from rules.snapshot import NOBODY, UNTOLD, Mover, Snapshot
from tests.rules.handlers.test_review import review
from tests.rules.scene import (
    CARD,
    NOW,
    POLICY,
    asks,
    card,
    ended,
    given,
    kinds,
    moved_by,
    only,
    pull,
    run,
    states,
)

BOT, BOB, OWN = Mover(PROJECT_BOT, "none"), Mover("bob", "write"), Mover("bob", "write", own=True)
NAMED = POLICY.model_copy(
    update={
        "board": POLICY.board.model_copy(update={"move": ("write", PROJECT_BOT), "unknown_mover": "allow"})
    }
)
YES: dict[str, Any] = {"run": ended(), "pull": pull(), "verdict": "approved", "approved_head": "abc123"}
TO_DONE = CardMoved(CARD, "Review", "Done", by_cardinal=False)


@pytest.mark.parametrize(
    ("snapshot", "by_workflow"),
    [
        (card("Done", mover=BOT), True),
        (card("Done", mover=BOT, closed="completed"), True),
        (card("In Progress", mover=BOT), False),  # the policy may let it start work there
        (card("In Progress", mover=BOT, closed="completed"), True),
        (card("In Progress", mover=BOT, archived=True), True),
        (card("Done", mover=BOT, pull=pull("merged"), closed="completed"), False),
        (card("Done", mover=NOBODY, closed="completed"), True),
        (card("Done", mover=Mover(role=UNTOLD), closed="completed"), True),
        (card("Done", mover=NOBODY), False),
        (card("Done", mover=BOB, closed="completed"), False),
        (card("Done", mover=OWN, closed="completed"), False),
    ],
)
def test_which_moves_count_as_a_workflows(snapshot: Snapshot, by_workflow: bool) -> None:
    assert is_by_workflow(snapshot) is by_workflow


@pytest.mark.parametrize("mover", [BOT, NOBODY])
@pytest.mark.parametrize(
    "event",
    [
        TO_DONE,
        CardArrived(CARD, "Done", NOW),
        CardSeen(CARD, card().board_id, "I", "a/b", 1, "t", "b", "eve", "Done", CardState.DRAFT),
    ],
)
def test_behind_a_close_no_entry_action_is_carried_out(mover: Mover, event: Any) -> None:
    behind = card("Done", CardState.IN_REVIEW, **YES, closed="completed", mover=mover)
    assert "MergePull" in kinds(asks(replace(behind, **moved_by(BOB)), event, by=NAMED))
    told = asks(behind, event, by=NAMED)
    assert "MergePull" not in kinds(told)
    assert states(told) == [CardState.BLOCKED]
    said = only(told, Say).text
    assert "To merge pull request #5, someone who may move cards drags it out and in again, or says" in said


def test_a_mover_who_is_found_late_merges_if_it_is_a_person() -> None:
    behind = card("Done", CardState.IN_REVIEW, **YES, closed="completed", mover=NOBODY)
    reason = only(asks(behind, TO_DONE, by=NAMED), ChangeCardState).reason
    assert reason is Reason.MOVER_UNKNOWN
    waits = replace(behind, state=CardState.BLOCKED, reason=reason)
    for mover, merges in ((BOB, True), (BOT, False)):
        found = asks(
            replace(waits, **moved_by(mover)), MoverFound(CARD, "Done", mover.login, mover.role), by=NAMED
        )
        assert ("MergePull" in kinds(found)) is merges


def test_an_approval_after_a_close_merges_nothing() -> None:
    awaits = card("Done", CardState.BLOCKED, **YES, closed="completed", mover=BOT, moved_at=NOW)
    assert "MergePull" not in kinds(asks(awaits, review("approved"), by=NAMED))


@pytest.mark.parametrize("how", ["queue", "auto"])
def test_a_merge_that_github_took_over_too_late_is_taken_back(how: str) -> None:
    gone = card("Done", CardState.DONE, **YES | {"pull": pull(awaits=how, awaited_head="abc123")})
    awaited = MergeAwaited(CARD, 5, how, "abc123", "")
    assert "CancelMerge" not in kinds(asks(gone, awaited))
    for given_up in ({"given_up": True, "closed": "duplicate"}, {"archived": True}):
        assert only(asks(replace(gone, **given_up), awaited), CancelMerge).because == "the card was given up"
    snapshot = replace(gone, archived=True, **moved_by(BOT))
    assert "CancelMerge" not in kinds(asks(snapshot, awaited, by=NAMED))


def test_a_card_that_was_given_up_does_not_say_that_a_drag_merges_it() -> None:
    for column in ("Review", "In Progress"):
        derived = derive(POLICY, card(column, **YES, given_up=True, closed="duplicate"))
        assert derived is not None
        if column == "Review":
            assert derived.because.endswith("its issue was closed as duplicate. Reopen it")
        assert derived.state is CardState.BLOCKED


def test_a_pull_request_that_opens_after_its_card_came_to_done_says_how_to_merge_it() -> None:
    early = card("Done", CardState.DONE, run=ended(), pull=pull())
    told = asks(early, PullOpened(CARD, "acme/shop", 5, "PR", "b", "abc123", False))
    assert states(told) == [CardState.BLOCKED]
    assert "To merge pull request #5" in only(told, Say).text


@pytest.mark.parametrize(
    ("trusted", "begun", "ends"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_a_completed_issue_ends_a_run_that_never_began(trusted: bool, begun: bool, ends: bool) -> None:

    waits = card(
        state=CardState.QUEUED,
        run=run(RunState.QUEUED, claimed_at=NOW if begun else None),
        closed="completed",
    )
    told = asks(waits, IssueClosed(CARD, "completed", "bob", trusted))
    assert [type(it) for it in told] == ([RunEnded] if ends else [])
    if ends:
        over = only(told, RunEnded)
        assert (over.ending, over.reason) == (Ending.CANCELLED, "superseded")


@pytest.mark.parametrize("gate", [Gate.PASSED, Gate.UNSEEN])
def test_whoever_retries_the_merge_stands_up_for_the_card(gate: Gate) -> None:
    """Else its check or its turn in the lane would end, and nothing be merged."""
    snapshot = card(
        "Done", CardState.BLOCKED, **YES | {"pull": pull(gate=gate)}, closed="completed", mover=BOT
    )
    told = asks(snapshot, given("retry", role="write"), by=NAMED)
    assert ("MergePull" if gate is Gate.PASSED else "QueueRun") in kinds(told)
    assert only(told, MoverFound) == MoverFound(CARD, "Done", "bob", "write")
    assert "MoverFound" not in kinds(
        asks(replace(snapshot, **moved_by(BOB)), given("retry", role="write"), by=NAMED)
    )
