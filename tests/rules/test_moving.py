"""Who may move cards: whatever somebody without the right drags, archives or puts there does nothing."""

from dataclasses import replace

import pytest

from ledger.event import Event
from ledger.events.board import CardArchived, CardConverted, CardMoved, CardSeen, LabelJudged, MoverFound
from ledger.events.pull import PullOpened
from ledger.states import CardState, RunState
from rules.card.move_rights import ACTS, may_move
from rules.explain import why
from rules.intents.internal import Explain
from rules.intents.outbound import Say
from rules.snapshot import NOBODY, UNTOLD, Mover, Snapshot
from tests.rules.scene import CARD, NOW, POLICY, asks, card, ended, kinds, only, pull, run

EVE, AUTOMATION = Mover("eve", "triage"), "github-project-automation[bot]"


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


REVIEWED = {"run": ended(), "pull": pull(), "verdict": "approved", "approved_head": "abc123"}
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
    (card(run=run(), pull=pull(), archived=True), CardArchived(CARD, "archived")),
    (card("Review", CardState.IN_REVIEW, **REVIEWED, archived=True), CardArchived(CARD, "deleted")),
]


@pytest.mark.parametrize(("snapshot", "event"), STEERED)
def test_what_needs_the_right_is_said_and_not_done(snapshot: Snapshot, event: Event) -> None:
    assert any(isinstance(one, ACTS) for one in asks(snapshot, event)), "nothing to refuse"
    found = asks(replace(snapshot, mover=EVE), event)
    assert not any(isinstance(one, ACTS) for one in found), kinds(found)
    if not snapshot.is_draft:
        assert "`eve`" in only(found, Say).text
        assert "has the role `triage` here, and that needs the role `write`" in only(found, Say).text
    unknown = asks(replace(snapshot, mover=NOBODY), event)
    assert not any(isinstance(one, ACTS) for one in unknown)


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
    assert "StopRun" in kinds(asks(gone, CardArchived(CARD, "Redacted")))


def test_a_pull_request_that_opens_after_its_card_was_taken_off_without_the_right_stays() -> None:
    opened = PullOpened(CARD, "acme/shop", 5, "PR", "b", "abc123", True)
    taken = card(run=ended(), pull=pull(), archived=True)
    assert "ClosePull" in kinds(asks(taken, opened))
    assert "ClosePull" not in kinds(asks(replace(taken, mover=EVE), opened))


def test_it_goes_on_once_it_is_known_that_somebody_who_may_moved_it() -> None:
    moved = CardMoved(CARD, "Tasks", "In Progress", False)
    waits = card(state=CardState.DRAFT, mover=NOBODY)
    said = only(asks(waits, moved), Say).text
    assert "It is not known who moved the card" in said
    because = f"{said[:1].lower()}{said[1:]}"
    known = card(state=CardState.BLOCKED, because=because, mover=Mover("bob", "write"))
    found = MoverFound(CARD, "In Progress", "bob", "write")
    assert "QueueRun" in kinds(asks(known, found))
    assert asks(replace(known, because="r1 was cancelled by bob"), found) == ()
    out = card("Tasks", run=run(), because=because, mover=Mover("bob", "write"))
    assert "AskQuestion" in kinds(asks(out, MoverFound(CARD, "Tasks", "bob", "write")))


def test_explain_tells_of_a_run_whose_card_was_dragged_away_without_the_right() -> None:
    away = card("Tasks", run=run(RunState.WORKING), mover=EVE)
    assert "; `eve` moved the card to `Tasks`" in why(POLICY, away, NOW)
    assert "eve" not in why(POLICY, replace(away, mover=Mover("bob", "write")), NOW)
    found = asks(away, CardMoved(CARD, "In Progress", "Tasks", False))
    assert "r1 goes on" in only(found, Explain).because


def test_a_label_that_would_choose_says_that_it_does_not() -> None:
    judged = LabelJudged(CARD, "cardinal:investigate", "eve", "triage", counts=False)
    assert "it chooses nothing" in only(asks(card(), judged), Say).text
    assert asks(card(), replace(judged, counts=True)) == ()
    assert asks(card(), replace(judged, label="bug")) == ()
