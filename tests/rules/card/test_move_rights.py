"""Who may move cards: whatever somebody without the right drags, archives or puts there does nothing."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from ledger.event import Event
from ledger.events.board import (
    CardArchived,
    CardConverted,
    CardExplained,
    CardMoved,
    CardSeen,
    LabelJudged,
    MoverFound,
)
from ledger.events.pull import MergeAwaited, PullChanged, PullOpened, ReviewDismissed
from ledger.events.run import RunEnded
from ledger.ids import RunId
from ledger.states import CardState, Ending, PullState, Reason, RunState
from rules.card.move_rights import guard_entry, may_move
from rules.explain import why
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import CancelMerge, Decision, Intent, MergePull, Say
from rules.snapshot import NOBODY, UNTOLD, Mover, Snapshot
from tests.rules.scene import (
    CARD,
    NOW,
    POLICY,
    R1,
    a_check,
    asks,
    card,
    ended,
    kinds,
    moved_by,
    only,
    policy,
    pull,
    run,
)

EVE, BOB, AUTOMATION = Mover("eve", "triage"), Mover("bob", "write"), "github-project-automation[bot]"


@pytest.mark.parametrize(
    ("mover", "may"),
    [
        (Mover("bob", "write"), True),
        (Mover("bob", "admin"), True),
        (EVE, False),
        (Mover("eve", "none"), False),
        (Mover("eve", "a role of tomorrow"), False),
        (Mover(AUTOMATION, "none"), False),
        (Mover("", "", own=True), True),
        (NOBODY, False),
        (Mover(role=UNTOLD), True),
    ],
)
def test_who_may_by_default(mover: Mover, may: bool) -> None:
    assert may_move(POLICY, mover) is may


@pytest.mark.parametrize(
    ("changes", "mover", "may"),
    [
        ({"move": ("triage",)}, EVE, True),
        ({"move": ("write", "@Eve")}, EVE, True),
        ({"move": ("write", AUTOMATION)}, Mover(AUTOMATION, "none"), True),
        ({"move": ("maintain",)}, Mover("bob", "write"), False),
        ({"unknown_mover": "allow"}, NOBODY, True),
        ({"unknown_mover": "allow"}, EVE, False),
        ({"unknown_mover": "wait"}, Mover(role=UNTOLD), False),
    ],
)
def test_who_may_is_the_policys_to_say(changes: dict[str, object], mover: Mover, may: bool) -> None:
    by = POLICY.model_copy(update={"board": POLICY.board.model_copy(update=changes)})
    assert may_move(by, mover) is may


REVIEWED: dict[str, Any] = {"run": ended(), "pull": pull(), "verdict": "approved", "approved_head": "abc123"}
WAITS: dict[str, Any] = REVIEWED | {"pull": pull(awaits="auto", awaited_head="abc123")}
STEERED: list[tuple[Snapshot, Event]] = [
    (card(state=CardState.DRAFT), CardMoved(CARD, "Tasks", "In Progress", False)),
    (
        card(state=CardState.DRAFT),
        CardSeen(CARD, card().board_id, "I", "a/b", 1, "t", "b", "eve", "In Progress", CardState.DRAFT),
    ),
    (
        card(number=None, repository=None, state=CardState.DRAFT),
        CardMoved(CARD, "Tasks", "In Progress", False),
    ),
    (card(state=CardState.BLOCKED), CardConverted(CARD, "I", "acme/shop", 12)),
    (card("Planning", CardState.DRAFT), CardMoved(CARD, "Tasks", "Planning", False)),
    (card("Done", CardState.IN_REVIEW, **REVIEWED), CardMoved(CARD, "Review", "Done", False)),
    (card("Tasks", run=run()), CardMoved(CARD, "In Progress", "Tasks", False)),
    (card("Review", CardState.DONE, **WAITS), CardMoved(CARD, "Done", "Review", False)),
    (card("Review", CardState.DONE, **WAITS), MoverFound(CARD, "Review", "eve", "triage")),
    (card(run=run(), pull=pull(), archived=True), CardArchived(CARD, "archived")),
    (card("Review", CardState.IN_REVIEW, **REVIEWED, archived=True), CardArchived(CARD, "deleted")),
]


@pytest.mark.parametrize(("snapshot", "event"), STEERED)
def test_what_needs_the_right_is_said_and_not_done(snapshot: Snapshot, event: Event) -> None:
    assert any(not ask.only_shows for ask in asks(snapshot, event)), "nothing to refuse"
    found = asks(replace(snapshot, **moved_by(EVE)), event)
    assert not any(not ask.only_shows for ask in found), kinds(found)
    if not snapshot.is_draft:
        assert "`eve`" in only(found, Say).text
        assert "has the role `triage` here, and that needs the role `write`" in only(found, Say).text
    unknown = asks(replace(snapshot, **moved_by(NOBODY)), event)
    assert not any(not ask.only_shows for ask in unknown)


def test_a_merge_that_waits_outlives_a_drag_without_the_right_and_all_that_follows() -> None:
    away = card("Tasks", CardState.BLOCKED, **WAITS, mover=EVE)
    moved = only(asks(away, CardMoved(CARD, "Done", "Tasks", False)), Say).text
    assert "GitHub still merges pull request #5. Someone who may move cards drags it here again" in moved
    for event in (
        PullChanged(CARD, 5, PullState.OPEN, False, "abc123"),
        MergeAwaited(CARD, 5, "auto", "abc123", ""),
    ):
        assert "CancelMerge" not in kinds(asks(away, event))
        assert (
            only(asks(replace(away, **moved_by(BOB)), event), CancelMerge).because
            == "the card was dragged away"
        )
    lapsed = replace(away, verdict="none")
    assert only(asks(lapsed, ReviewDismissed(CARD, 9)), CancelMerge).because == "its approval was taken back"
    failed = MergeAwaited(CARD, 5, "", "abc123", "ci_failure")
    told = only(asks(replace(away, pull=pull()), failed), Say).text
    assert "no longer being merged by GitHub (ci failure): look at it, then drag the card back" in told


def test_a_check_that_ends_merges_nothing_that_was_put_there_without_the_right() -> None:
    snapshot = card("Done", CardState.BLOCKED, **REVIEWED, beside=a_check(), mover=BOB)
    passed = RunEnded(RunId("r5"), Ending.SUCCEEDED, "", "", "")
    assert only(asks(snapshot, passed), MergePull).head == "abc123"
    assert "MergePull" not in kinds(asks(replace(snapshot, **moved_by(EVE)), passed))


def test_a_run_that_ends_merges_nothing_that_was_put_there_without_the_right() -> None:
    by = policy("Done: {archetype: terminal, on_entry: [{action: merge, requires: none}]}")
    over, ending = card("Done", CardState.WORKING, **REVIEWED), RunEnded(R1, Ending.SUCCEEDED, "", "", "")
    assert "MergePull" in kinds(asks(over, ending, by=by))
    told = asks(replace(over, **moved_by(EVE)), ending, by=by)
    assert "MergePull" not in kinds(told)
    assert "`eve` moved the card to `Done`" in only(told, Say).text


def test_an_intent_needs_the_right_unless_its_class_says_that_it_only_shows() -> None:
    @dataclass(frozen=True, slots=True)
    class Teleport(Intent):
        """A new act, of which nobody has said anything."""

    @dataclass(frozen=True, slots=True)
    class Whisper(Intent, only_shows=True):
        """A new way to show something."""

    teleport, whisper = Decision((Teleport(CARD),)), Decision((Whisper(CARD),))
    assert guard_entry(POLICY, card("Done"), teleport, NOW) == teleport
    assert guard_entry(POLICY, card("Done", mover=EVE), whisper, NOW) == whisper
    assert "Teleport" not in kinds(guard_entry(POLICY, card("Done", mover=EVE), teleport, NOW).intents)


def test_a_card_that_is_moved_where_nothing_would_be_done_says_nothing() -> None:
    idle = card("Tasks", CardState.BLOCKED, mover=EVE)
    assert kinds(asks(idle, CardMoved(CARD, "In Progress", "Tasks", False))) == [
        "ChangeCardState",
        "UpdateFace",
    ]
    merged = card("Done", CardState.APPROVED, run=ended(), pull=pull("merged"), mover=EVE)
    assert "DeleteBranch" in kinds(asks(merged, CardMoved(CARD, "Review", "Done", False)))


def test_a_card_that_went_out_of_sight_was_taken_off_by_nobody() -> None:
    gone = card(run=run(), archived=True, mover=NOBODY)
    assert "RunStopAsked" in kinds(asks(gone, CardArchived(CARD, "Redacted")))


def test_a_pull_request_that_opens_after_its_card_was_taken_off_without_the_right_stays() -> None:
    opened = PullOpened(CARD, "acme/shop", 5, "PR", "b", "abc123", True)
    snapshot = card(run=ended(), pull=pull(), archived=True)
    assert "ClosePull" in kinds(asks(snapshot, opened))
    assert "ClosePull" not in kinds(asks(replace(snapshot, **moved_by(EVE)), opened))


def test_it_goes_on_once_it_is_known_that_somebody_who_may_moved_it() -> None:
    moved = CardMoved(CARD, "Tasks", "In Progress", False)
    waits = card(state=CardState.DRAFT, mover=NOBODY)
    assert "GitHub did not say who moved the card" in only(asks(waits, moved), Say).text
    reason = only(asks(waits, moved), ChangeCardState).reason
    snapshot = card(state=CardState.BLOCKED, reason=reason, mover=Mover("bob", "write"))
    event = MoverFound(CARD, "In Progress", "bob", "write")
    assert "QueueRun" in kinds(asks(snapshot, event))
    assert asks(replace(snapshot, because="it is not known who did it", reason=Reason.OTHER), event) == ()
    out = card("Tasks", run=run(), reason=reason, mover=Mover("bob", "write"))
    assert "QuestionAsked" in kinds(asks(out, MoverFound(CARD, "Tasks", "bob", "write")))


def test_explain_tells_of_a_run_whose_card_was_dragged_away_without_the_right() -> None:
    away = card("Tasks", run=run(RunState.WORKING), mover=EVE)
    assert "; `eve` moved the card to `Tasks`" in why(POLICY, away)
    assert "eve" not in why(POLICY, replace(away, **moved_by(Mover("bob", "write"))))
    found = asks(away, CardMoved(CARD, "In Progress", "Tasks", False))
    assert "r1 continues" in only(found, CardExplained).because


def test_a_label_that_would_choose_says_that_it_does_not() -> None:
    judged = LabelJudged(CARD, "cardinal:investigate", "eve", "triage", counts=False)
    assert "it chooses nothing" in only(asks(card(), judged), Say).text
    assert asks(card(), replace(judged, counts=True)) == ()
    assert asks(card(), replace(judged, label="bug")) == ()
