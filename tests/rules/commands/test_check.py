"""`/cardinal check`: the checks run on the pull request's commit, without an agent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.board import CardExplained, CardMoved
from ledger.events.pull import PullChanged
from ledger.events.run import RunEnded, RunStepped, RunStopAsked
from ledger.ids import RunId
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, Gate, PullState, RunKind, RunState, StopKind
from rules.intents.internal import QueueRun
from rules.intents.outbound import MarkReady, MergePull, Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, NOW, POLICY, a_check, asks, card, ended, kinds, only, pull, run

R5 = RunId("r5")
ALIVE, OVER = (a_check(alive=True),), (a_check(),)
CHECKED = QueueRun(CARD, RunKind.CHECK, "bob", plan_required=False)
UNSEEN = pull(gate=Gate.UNSEEN)
PUSHED = PullChanged(CARD, 5, PullState.OPEN, False, "abc123")


@pytest.mark.parametrize("gate", list(Gate))
@pytest.mark.parametrize("column", ["In Progress", "Review", "Done"])
def test_whatever_is_known_of_the_commit_it_is_checked_once_more(gate: Gate, column: str) -> None:
    snapshot = card(column, CardState.APPROVED, run=ended(), pull=pull(gate=gate), checks=OVER)
    assert handled("check", snapshot) == (CHECKED,)


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (card(run=ended()), "no open pull request"),
        (card(run=ended(), pull=pull("merged")), "no open pull request"),
        (card(run=run(), pull=pull()), "r1 is working"),
        (card(run=ended(), pull=pull(), checks=ALIVE), "r5 is already checking it"),
        (card(pull=pull()), "no run has worked"),
    ],
)
def test_it_says_why_nothing_was_started(snapshot: Snapshot, said: str) -> None:
    assert said in told("check", snapshot)


def test_cancel_stops_a_run_that_only_checks_where_no_other_lives() -> None:
    (stop,) = handled("cancel", card(run=ended(), pull=pull(), checks=ALIVE))
    assert stop == RunStopAsked(R5, StopKind.CANCEL, "bob", "/cardinal cancel")


@pytest.mark.parametrize(
    ("column", "gate", "checks", "starts"),
    [
        ("Review", Gate.UNSEEN, (), True),
        ("Review", Gate.UNSEEN, OVER, True),
        ("Review", Gate.UNSEEN, ALIVE, False),
        ("Review", Gate.FAILED, OVER, False),
        ("Review", Gate.PASSED, (), False),
        ("Review", Gate.NOTHING, (), False),
        ("In Progress", Gate.UNSEEN, (), False),
    ],
)
def test_a_push_under_review_is_checked_unasked(
    column: str, gate: Gate, checks: tuple[RunRow, ...], starts: bool
) -> None:
    snapshot = card(column, CardState.IN_REVIEW, run=ended(), pull=pull(gate=gate), checks=checks)
    intents = asks(snapshot, PUSHED)
    assert [intent.by for intent in intents if isinstance(intent, QueueRun)] == (["push"] if starts else [])


def test_after_so_many_in_an_hour_none_starts_unasked() -> None:
    many = POLICY.limits.automatic_runs_per_hour
    lately = tuple(a_check(at=NOW - timedelta(minutes=one)) for one in range(many))
    snapshot = card("Review", CardState.IN_REVIEW, run=ended(), pull=UNSEEN, checks=lately)
    intents = asks(snapshot, PUSHED)
    assert "QueueRun" not in kinds(intents)
    assert "/cardinal check starts another" in only(intents, CardExplained).because
    old = tuple(replace(it, queued_at=NOW - timedelta(hours=2)) for it in lately)
    assert "QueueRun" in kinds(asks(replace(snapshot, checks=old), PUSHED))


def over(ending: Ending = Ending.SUCCEEDED, detail: str = "") -> RunEnded:
    return RunEnded(R5, ending, "", detail, "validating")


def seen(column: str, gate: Gate, **changes: object) -> Snapshot:
    snapshot = card(column, CardState.IN_REVIEW, run=ended(), checks=OVER, beside=a_check())
    return replace(snapshot, pull=pull(gate=gate, draft=True), **changes)  # type: ignore[arg-type]


def test_only_its_end_matters_and_nothing_is_reported_of_it_as_of_an_attempt() -> None:
    for event in (RunStepped(R5, RunState.CLAIMED, RunState.PREPARING), over()):
        assert {"WriteRunComment", "PostReport", "MoveCard"}.isdisjoint(
            kinds(asks(seen("In Progress", Gate.PASSED), event))
        )


def test_what_passed_leaves_draft_and_in_the_last_column_is_merged() -> None:
    assert only(asks(seen("Review", Gate.PASSED), over()), MarkReady).about == R5
    snapshot = seen("Done", Gate.PASSED, verdict="approved", approved_head="abc123")
    assert only(asks(snapshot, over()), MergePull).head == "abc123"
    unfinished = replace(seen("Review", Gate.PASSED), run=ended(Ending.FAILED))
    assert "MarkReady" not in kinds(asks(unfinished, over()))


def test_what_failed_is_said_and_in_the_last_column_aloud() -> None:
    failed = over(Ending.FAILED, "the checks do not pass")
    assert "checks failed" in only(asks(seen("Review", Gate.FAILED), failed), CardExplained).because
    assert "Say" not in kinds(asks(seen("Review", Gate.FAILED), failed))
    assert "checks failed" in only(asks(seen("Done", Gate.FAILED), failed), Say).text
    broken = over(Ending.FAILED, "the engine is away")
    assert (
        "could not check it: the engine is away"
        in only(asks(seen("Review", Gate.UNSEEN), broken), CardExplained).because
    )


def test_an_unseen_commit_is_checked_before_it_is_merged_and_not_again_while_that_goes_on() -> None:
    moved = CardMoved(CARD, "QA", "Done", by_cardinal=False)
    fresh = card("Done", CardState.APPROVED, run=ended(), pull=UNSEEN, verdict="approved")
    intents = asks(replace(fresh, approved_head="abc123"), moved)
    assert only(intents, QueueRun).kind == "check"
    assert "MergePull" not in kinds(intents)
    assert "Say" not in kinds(intents)
    waiting = asks(replace(fresh, approved_head="abc123", checks=ALIVE), moved)
    assert {"QueueRun", "MergePull", "Say"}.isdisjoint(kinds(waiting))
