"""Verdicts, the pull request's life and closed issues: what becomes of the card."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledger.event import Event
from ledger.events.board import (
    CardArchived,
    CardExplained,
    CardRestored,
    DecisionFailed,
    IssueClosed,
    IssueReopened,
    StopLifted,
    StopOrdered,
)
from ledger.events.policy import PolicyLoaded, PolicyRejected
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import PullChanged, PullOpened, ReviewDismissed, ReviewSubmitted
from ledger.events.run import RunRequeued, RunStopAsked
from ledger.ids import CardId, EntryKey
from ledger.rows.runs import RunRow
from ledger.states import CardState, PullState, RunState, StopKind
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import (
    ClosePull,
    DeleteBranch,
    DescribeColumns,
    ReportPolicy,
    Say,
    UpdateTicker,
    WriteRunComment,
)
from rules.runs.kill_switch import spread_stop
from rules.snapshot import Mover, Snapshot
from tests.rules.scene import (
    BOARD,
    CARD,
    NOW,
    R1,
    a_check,
    a_stop,
    asks,
    card,
    ended,
    given,
    kinds,
    moved_by,
    only,
    pull,
    run,
    said,
    states,
)

S = CardState


def review(verdict: str, *, trusted: bool = True) -> ReviewSubmitted:
    return ReviewSubmitted(CARD, 3, "carol", trusted, verdict, "", ())


def reviewed(column: str, state: CardState, verdict: str, threads: int = 0) -> Snapshot:
    return card(
        column,
        state,
        run=ended(),
        pull=pull(),
        verdict=verdict,
        pending_threads=threads,
        approved_head="abc123" if verdict == "approved" else "",
    )


@pytest.mark.parametrize(("column", "state"), [("Review", S.IN_REVIEW), ("In Progress", S.WORK_COMPLETE)])
def test_an_approval_approves(column: str, state: CardState) -> None:
    assert states(asks(reviewed(column, state, "approved"), review("approved"))) == [S.APPROVED]


@pytest.mark.parametrize(("column", "state"), [("Review", S.IN_REVIEW), ("In Progress", S.WORK_COMPLETE)])
def test_requested_changes_say_what_sends_them_to_an_agent(column: str, state: CardState) -> None:
    intents = asks(reviewed(column, state, "changes_requested", 2), review("changes_requested"))
    assert states(intents) == [S.CHANGES_REQUESTED]
    text = only(intents, Say).text
    assert "In Progress" in text
    assert "/cardinal retry" in text
    assert "the 2 threads" in text
    intents = asks(reviewed(column, state, "changes_requested", 1), review("changes_requested"))
    assert " the thread" in only(intents, Say).text
    assert only(intents, Say).place == "pull"


@pytest.mark.parametrize(
    ("snapshot", "event"),
    [
        (reviewed("Review", S.IN_REVIEW, "none"), review("approved", trusted=False)),
        (reviewed("Review", S.IN_REVIEW, "approved"), review("approved", trusted=False)),
        (reviewed("Review", S.IN_REVIEW, "changes_requested", 1), review("changes_requested", trusted=False)),
        (reviewed("Review", S.IN_REVIEW, "none"), review("commented")),
        (reviewed("Review", S.APPROVED, "approved"), review("changes_requested")),
        (card(run=run(), pull=pull(), verdict="approved"), review("approved")),
    ],
)
def test_a_review_that_decides_nothing_changes_nothing(snapshot: Snapshot, event: ReviewSubmitted) -> None:
    assert asks(snapshot, event) == ()


def test_a_dismissed_verdict_is_taken_back() -> None:
    gone = ReviewDismissed(CARD, 3)
    assert states(asks(reviewed("Review", S.APPROVED, "none"), gone)) == [S.IN_REVIEW]
    assert states(asks(reviewed("Review", S.CHANGES_REQUESTED, "none"), gone)) == [S.IN_REVIEW]
    assert states(asks(reviewed("In Progress", S.APPROVED, "none"), gone)) == [S.WORK_COMPLETE]


def test_a_pull_request_that_somebody_closes_mid_run_cancels_the_run() -> None:
    event = PullChanged(CARD, 5, PullState.CLOSED, False, "abc123")
    assert only(asks(card(run=run(), pull=pull("closed")), event), RunStopAsked).how == "cancel"
    idle = card("Review", S.IN_REVIEW, run=ended(), pull=pull("closed"))
    assert states(asks(idle, event)) == [S.BLOCKED]
    reopened = PullChanged(CARD, 5, PullState.OPEN, False, "abc123")
    assert states(asks(card("Review", S.BLOCKED, run=ended(), pull=pull()), reopened)) == [S.IN_REVIEW]


@pytest.mark.parametrize("reason", ["not_planned", "duplicate"])
def test_a_card_whose_issue_is_not_planned_is_given_up(reason: str) -> None:
    event = IssueClosed(CARD, reason, "carol", trusted=True)
    intents = asks(card(run=run(), pull=pull(), closed=reason, given_up=True), event)
    assert kinds(intents) == ["RunStopAsked", "ClosePull", "DeleteBranch"]
    assert "carol closed the issue" in only(intents, ClosePull).because


@pytest.mark.parametrize("by", ["eve", ""])
def test_an_issue_closed_by_somebody_who_may_not_destroys_nothing(by: str) -> None:
    event = IssueClosed(CARD, "not_planned", by)
    intents = asks(card(run=run(), pull=pull(), closed="not_planned"), event)
    assert kinds(intents) == ["CardExplained", "UpdateFace"]
    assert (
        f"by {by or 'somebody'}, who may not give it up: archive the card"
        in only(intents, CardExplained).because
    )
    idle = card("Review", S.IN_REVIEW, run=ended(), pull=pull(), closed="not_planned")
    assert states(asks(idle, event)) == [S.BLOCKED]
    assert "ClosePull" not in kinds(asks(idle, event))
    snapshot = card("Done", S.DONE, run=ended(), pull=pull("merged"), closed="not_planned")
    assert states(asks(snapshot, event)) == []


@pytest.mark.parametrize("state", ["closed", "merged"])
@pytest.mark.parametrize(
    ("check", "stopped"),
    [
        (a_check(alive=True, by="merge"), ["RunStopAsked"]),
        (a_check(alive=True, by="merge", stop_by="alice"), []),
        (a_check(by="merge"), []),
    ],
)
def test_a_check_is_withdrawn_once_its_pull_request_is_over(
    state: str, check: RunRow, stopped: list[str]
) -> None:
    snapshot = card("Done", run=ended(), pull=pull(state), checks=(check,))
    intents = asks(
        snapshot, PullChanged(CARD, pull().number, PullState(state), draft=False, head=pull().head)
    )
    assert [kind for kind in kinds(intents) if kind == "RunStopAsked"] == stopped


def test_an_approval_of_a_card_that_stands_in_done_says_how_it_is_merged() -> None:
    snapshot = card("Done", S.BLOCKED, run=ended(), pull=pull(), verdict="approved")
    assert "/cardinal retry" in only(asks(snapshot, review("approved")), CardExplained).because


@pytest.mark.parametrize(
    ("submitted_s", "state", "mover", "merges"),
    [
        (-60, S.BLOCKED, Mover("bob", "write"), True),
        (+60, S.BLOCKED, Mover("bob", "write"), False),
        (-60, S.DONE, Mover("bob", "write"), False),
        (-60, S.BLOCKED, Mover("eve", "triage"), False),
    ],
)
def test_an_approval_that_came_before_the_drag_merges_late_for_whoever_may_move_cards(
    submitted_s: int, state: CardState, mover: Mover, merges: bool
) -> None:
    before = reviewed("Done", state, "approved")
    snapshot = replace(before, moved_at=NOW, **moved_by(mover), approved_head=pull().head)
    event = replace(review("approved"), submitted_at=NOW + timedelta(seconds=submitted_s))
    assert ("MergePull" in kinds(asks(snapshot, event))) is merges


def test_what_could_not_be_decided_is_said_on_the_card() -> None:
    event = DecisionFailed(CARD, 7, "CardMoved", "KeyError: 'x'")
    assert "failed at event 7 (KeyError)" in only(asks(card(run=run()), event), CardExplained).because


@pytest.mark.parametrize("event", [given("stop-all", role="admin"), said("go on", role="admin")])
def test_a_card_of_another_owner_is_shown_and_nobody_is_obeyed_there(event: Event) -> None:
    foreign = card("Planning", S.DISCUSSING, repository="eve/trap", board_owner="acme")
    intents = asks(foreign, event)
    assert kinds(intents) == ["ChangeCardState", "UpdateFace"]
    assert "outside acme" in only(intents, ChangeCardState).because
    snapshot = card("Planning", S.DISCUSSING, repository="ACME/shop", board_owner="acme")
    assert "UpdateFace" not in kinds(asks(snapshot, event))


def test_a_completed_issue_gives_nothing_up() -> None:
    intents = asks(card(run=run(), pull=pull(), closed="completed"), IssueClosed(CARD, "completed", "carol"))
    assert intents == ()
    snapshot = card("Done", S.APPROVED, run=ended(), pull=pull("merged"), closed="completed")
    assert states(asks(snapshot, IssueClosed(CARD, "completed", "carol"))) == [S.DONE]


def test_a_reopened_issue_shows_the_card_again_and_starts_nothing() -> None:
    intents = asks(card(state=S.BLOCKED, run=ended()), IssueReopened(CARD, "carol"))
    assert states(intents) == [S.WORK_COMPLETE]
    assert "QueueRun" not in kinds(intents)


def test_a_card_that_left_the_board_is_given_up_and_rests() -> None:
    snapshot = card(archived=True, run=run(), pull=pull())
    intents = asks(snapshot, CardArchived(CARD, "deleted"))
    assert kinds(intents) == ["RunStopAsked", "ClosePull", "DeleteBranch", "ChangeCardState"]
    merged = asks(card("Done", S.DONE, archived=True, pull=pull("merged")), CardArchived(CARD, "archived"))
    assert states(merged) == [S.ARCHIVED]
    assert "DeleteBranch" not in kinds(merged)


def test_a_pull_request_that_opens_after_its_card_was_given_up_is_closed() -> None:
    opened = PullOpened(CARD, "acme/shop", 5, "PR_1", "b", "abc123", True)
    for snapshot in (card(archived=True, pull=pull()), card(given_up=True, pull=pull())):
        assert only(asks(snapshot, opened), DeleteBranch).branch == "cardinal/12-add-login"
    assert "DeleteBranch" not in kinds(asks(card(closed="not_planned", pull=pull()), opened))


def test_a_card_that_is_back_shows_itself_and_starts_nothing() -> None:
    intents = asks(card(state=S.ARCHIVED, run=ended()), CardRestored(CARD))
    assert states(intents) == [S.WORK_COMPLETE]
    assert "QueueRun" not in kinds(intents)


WANTED = card("Done", S.APPROVED, run=ended(), pull=pull())
CHECKED = a_check(alive=True)


@pytest.mark.parametrize(
    ("act", "snapshot"),
    [
        ("MergePull", WANTED),
        ("merge_pull", WANTED),
        ("OpenPull", replace(WANTED, pull=None)),
        ("ConvertDraft", replace(WANTED, pull=None, repository=None, number=None)),
        ("MarkReady", replace(WANTED, pull=pull(draft=True))),
        ("mark_ready", card("Review", S.IN_REVIEW, run=ended(), pull=pull(draft=True))),
        ("move_card", WANTED),
    ],
)
def test_an_act_that_the_card_needs_and_that_failed_blocks_it_with_the_reason(
    act: str, snapshot: Snapshot
) -> None:
    event = EntryGivenUp(CARD, EntryKey("k"), act, "merge conflict in app.py")
    intents = asks(snapshot, event)
    assert states(intents) == [S.BLOCKED]
    assert "merge conflict in app.py" in only(intents, ChangeCardState).because
    assert only(intents, Say).text.endswith("merge conflict in app.py.")
    assert ("WriteCheck" in kinds(intents)) is (snapshot.open_pull is not None), "it gets a button to retry"


ASKED: dict[str, Any] = {"run": ended(), "pull": pull(draft=True), "verdict": "changes_requested"}


@pytest.mark.parametrize(
    ("act", "snapshot"),
    [
        ("merge_pull", card("Done", S.DONE, run=ended(), pull=pull("merged"))),
        ("merge_pull", card("Done", S.DONE, run=ended(), pull=pull("closed"))),
        ("merge_pull", card("Done", S.DONE, run=ended(), pull=pull(), given_up=True, closed="duplicate")),
        ("open_pull", card(state=S.WORK_COMPLETE, run=ended(), pull=pull())),
        ("convert_draft", card(state=S.WORK_COMPLETE, run=ended())),
        ("mark_ready", card("Review", S.IN_REVIEW, run=ended(), pull=pull())),
        ("mark_ready", card("Review", S.BLOCKED, run=ended(), pull=pull("closed"))),
        ("mark_ready", card("Review", S.IN_REVIEW, run=ended(), pull=pull(draft=True), checks=(CHECKED,))),
        ("mark_ready", card("Review", S.CHANGES_REQUESTED, **ASKED)),
        ("mark_ready", card("In Progress", S.CHANGES_REQUESTED, **ASKED)),
    ],
)
def test_an_act_that_people_have_overtaken_leaves_the_card_as_it_is(act: str, snapshot: Snapshot) -> None:
    intents = asks(snapshot, EntryGivenUp(CARD, EntryKey("k"), act, "say /cardinal check"))
    assert states(intents) == []
    assert "Say" not in kinds(intents)


def test_an_act_that_failed_beside_a_live_run_is_told_and_a_small_one_is_not() -> None:
    snapshot = card(run=run())
    assert kinds(asks(snapshot, EntryGivenUp(CARD, EntryKey("k"), "OpenPull", "no"))) == [
        "CardExplained",
        "UpdateFace",
    ]
    assert asks(snapshot, EntryGivenUp(CARD, EntryKey("k"), "React", "no")) == ()


def test_a_report_that_could_not_be_posted_leaves_the_reason_to_the_runs_comment() -> None:
    unreported = EntryGivenUp(CARD, EntryKey("report:r1"), "post_report", "no")
    assert asks(card(run=ended()), unreported) == (WriteRunComment(CARD, R1),)


def test_a_policy_in_force_describes_the_columns_and_a_bad_one_is_reported() -> None:
    loaded = asks(card(), PolicyLoaded(BOARD, "d", "version: 1", "c0ffee"))
    ticker = UpdateTicker(CardId(BOARD))
    assert loaded == (DescribeColumns(CardId(BOARD)), ticker, ReportPolicy(CardId(BOARD), "c0ffee"))
    assert asks(card(), PolicyLoaded(BOARD, "d", "", "")) == (DescribeColumns(CardId(BOARD)), ticker)
    assert asks(card(), PolicyRejected(BOARD, "d", "bad", ("x",))) == (ReportPolicy(CardId(BOARD), "bad"),)


def test_a_kill_switch_parks_live_runs_and_its_end_lets_only_those_go_on() -> None:
    ordered, lifted = StopOrdered(BOARD, "board", BOARD, "al"), StopLifted(BOARD, "board", BOARD, "al")
    stop = only(spread_stop(card(run=run()), ordered).intents, RunStopAsked)
    assert stop.how == "pause"
    parked = run(RunState.PARKED, stop_asked=StopKind.PAUSE, stop_why=stop.why)
    assert spread_stop(card(run=parked), lifted).intents == (RunRequeued(R1, "resumed", by="al"),)
    by_hand = run(RunState.PARKED, stop_asked=StopKind.PAUSE, stop_why="/cardinal pause")
    assert spread_stop(card(run=by_hand), lifted).intents == ()
    still = card(run=parked, stops=(a_stop("column", "In Progress", "al"),))
    assert spread_stop(still, lifted).intents == ()
    assert spread_stop(card(run=run()), StopOrdered(BOARD, "column", "Other", "al")).intents == ()


def test_the_words_of_a_strangers_review_are_held_and_that_is_said_while_a_run_lives() -> None:
    words = ReviewSubmitted(CARD, 3, "eve", False, "commented", "Use cents.", ())
    say = only(asks(card(run=run(), pull=pull()), words), Say)
    assert "does not read comments by `eve`" in say.text
    assert "/cardinal ok" in say.text
    assert say.place == "pull"
    assert "Say" not in kinds(asks(card(run=run(), pull=pull()), replace(words, body="")))
    assert "Say" not in kinds(asks(card("Review", run=ended(), pull=pull()), words))
