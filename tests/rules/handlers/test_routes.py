"""Routes: where a card goes after a success, a failure, and a review that asks for changes."""

from datetime import timedelta
from typing import Any

import pytest

from ledger.event import Event
from ledger.events.board import CardMoved
from ledger.events.pull import ReviewSubmitted
from ledger.events.run import RunEnded
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, Reason
from rules.card.column_actions import consequence
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import MoveCard
from rules.policy.model import Policy, parse
from rules.snapshot import Mover, Snapshot
from tests.rules.scene import CARD, NOW, R1, asks, card, ended, kinds, only, pull, run

TEXT = """\
version: 1
board:
  workflows:
    docs:
      stages: [{name: write, persona: docs-writer}]
      on_success: stay
      on_failure: {move: Rework}
      on_changes_requested: {move: Rework}
    plain: {stages: [{name: build, persona: senior-engineer}]}
  columns:
    Triage: {archetype: inbox}
    Rework: {archetype: execution}
    In Progress:
      archetype: execution
      agents: [codex]
      on_success: {move: Review}
      on_failure: {move: Triage}
      on_changes_requested: {move: In Progress}
    Review: {archetype: review}
    Strict: {archetype: review, on_changes_requested: stay}
"""
POLICY = parse(TEXT, home="acme/board")
RETRIES = parse(
    TEXT.replace("      agents: [codex]\n", "      agents: [codex]\n      retry: {with: codex}\n"),
    home="acme/board",
)


def end(ending: Ending, reason: str = "gave_up", cause: str = "") -> RunEnded:
    return RunEnded(R1, ending, reason, "", "", cause=cause)


def moves(snapshot: Snapshot, event: Event, by: Policy = POLICY) -> list[tuple[str, str, str]]:
    """Return target, name and source of each move."""
    found = (it for it in asks(snapshot, event, by=by) if isinstance(it, MoveCard))
    return [(it.column, it.about, it.source) for it in found]


def review(verdict: str = "changes_requested", *, trusted: bool = True) -> ReviewSubmitted:
    return ReviewSubmitted(CARD, 9, "bob", trusted, verdict, "Please rename it", ())


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.LOST])
def test_a_failed_card_goes_where_the_column_says(ending: Ending) -> None:
    assert moves(card(run=ended(ending)), end(ending)) == [("Triage", "failure:r1", "In Progress")]


@pytest.mark.parametrize(
    ("workflow", "ending", "target"),
    [
        ("docs", Ending.FAILED, ["Rework"]),
        ("docs", Ending.SUCCEEDED, []),
        ("plain", Ending.FAILED, ["Triage"]),
        ("plain", Ending.SUCCEEDED, ["Review"]),
        ("gone", Ending.FAILED, ["Triage"]),
    ],
)
def test_the_route_of_the_runs_workflow_goes_before_the_columns(
    workflow: str, ending: Ending, target: list[str]
) -> None:
    snapshot = card(run=ended(ending, workflow=workflow))
    assert [column for column, _, _ in moves(snapshot, end(ending))] == target


def test_a_retry_comes_first_and_the_route_when_it_has_failed_as_well() -> None:
    first = asks(card(run=ended(Ending.FAILED), attempts=1), end(Ending.FAILED), by=RETRIES)
    assert only(first, QueueRun).other_agent == "codex"
    assert "MoveCard" not in kinds(first)
    second = card(run=ended(Ending.FAILED, other_agent="codex"), attempts=2)
    assert moves(second, end(Ending.FAILED), RETRIES) == [("Triage", "failure:r1", "In Progress")]
    by_codex = RETRIES.board.columns["In Progress"].played_by("codex", {}).to_json()
    same = card(run=ended(Ending.FAILED, settings=by_codex))
    assert moves(same, end(Ending.FAILED), RETRIES) == [("Triage", "failure:r1", "In Progress")]
    before = by_codex.replace('"recent_work":0,', "")  # as an earlier Cardinal kept them
    earlier = card(run=ended(Ending.FAILED, settings=before))
    assert before != by_codex
    assert moves(earlier, end(Ending.FAILED), RETRIES) == [("Triage", "failure:r1", "In Progress")]
    fewer_turns = by_codex.replace('"max_turns":60', '"max_turns":9')
    assert fewer_turns != by_codex
    limited = card(run=ended(Ending.FAILED, settings=fewer_turns))
    assert moves(limited, end(Ending.FAILED), RETRIES) == [("Triage", "failure:r1", "In Progress")]
    own = card(run=ended(Ending.FAILED, agent="own", settings=by_codex))
    assert only(asks(own, end(Ending.FAILED), by=RETRIES), QueueRun).other_agent == "codex"


@pytest.mark.parametrize(
    ("event", "changes", "run_changes"),
    [
        (end(Ending.CANCELLED), {}, {}),
        (end(Ending.FAILED), {"closed": "completed"}, {}),
        (end(Ending.FAILED), {"archived": True}, {}),
        (end(Ending.FAILED), {"column": "Rework"}, {}),
        (end(Ending.FAILED), {}, {"mode": "investigate"}),
        (end(Ending.FAILED, "provider", "bad key"), {}, {}),
        (end(Ending.FAILED), {"pull": pull("merged")}, {}),
    ],
)
def test_a_card_stays_that_has_not_failed_by_itself_or_that_a_person_moved(
    event: RunEnded, changes: dict[str, Any], run_changes: dict[str, Any]
) -> None:
    snapshot = card(run=ended(event.ending, **run_changes), **changes)
    assert moves(snapshot, event) == []


def arrived(before: str, after: str, row: RunRow, **changes: Any) -> Snapshot:
    by = Mover("alice", "write", own=True)
    return card(after, CardState.FAILED, by, run=row, **changes)


def test_its_face_says_why_it_came() -> None:
    snapshot = arrived("In Progress", "Triage", ended(Ending.FAILED, detail="no test was found"))
    move = CardMoved(CARD, "In Progress", "Triage", by_cardinal=True, by="alice")
    state = only(asks(snapshot, move, by=POLICY), ChangeCardState)
    assert (state.after, state.reason) == (CardState.DRAFT, Reason.RUN_FAILED)
    assert state.because.startswith("r1 failed: no test was found (in In Progress); nothing runs in this")


def test_a_card_that_people_had_moved_on_shows_no_old_failure() -> None:
    snapshot = arrived("Triage", "Review", ended(Ending.FAILED, detail="no test was found"))
    move = CardMoved(CARD, "Triage", "Review", by_cardinal=True, by="alice")
    assert "no test was found" not in only(asks(snapshot, move, by=POLICY), ChangeCardState).because


def test_in_an_execution_column_it_is_tried_again_until_too_many_runs_began() -> None:
    snapshot = arrived("In Progress", "Rework", ended(Ending.FAILED))
    move = CardMoved(CARD, "In Progress", "Rework", by_cardinal=True, by="alice")
    assert only(asks(snapshot, move, by=POLICY), QueueRun).kind == "retry"
    often = arrived("In Progress", "Rework", ended(Ending.FAILED), begun=(NOW - timedelta(minutes=1),) * 6)
    intents = asks(often, move, by=POLICY)
    assert "QueueRun" not in kinds(intents)
    assert "6 runs began within an hour" in only(intents, ChangeCardState).because


@pytest.mark.parametrize(
    ("column", "workflow", "target"),
    [
        ("Review", "", ["In Progress"]),
        ("Review", "docs", ["Rework"]),
        ("Strict", "", []),
        ("Strict", "docs", ["Rework"]),
        ("In Progress", "", []),
        ("Triage", "", []),
    ],
)
def test_a_review_that_asks_for_changes_sends_the_card_on(
    column: str, workflow: str, target: list[str]
) -> None:
    seen = card(
        column, CardState.IN_REVIEW, run=ended(workflow=workflow), pull=pull(), verdict="changes_requested"
    )
    assert [(it, about) for it, about, _ in moves(seen, review())] == [(it, "changes:9") for it in target]


def test_no_other_review_does() -> None:
    seen = card("Review", CardState.IN_REVIEW, run=ended(), pull=pull(), verdict="changes_requested")
    assert moves(seen, review(trusted=False)) == []
    assert moves(card("Review", run=ended(), pull=pull(), verdict="approved"), review("approved")) == []
    assert moves(card("Review", run=run(), pull=pull(), verdict="changes_requested"), review()) == []


def test_changes_asked_for_during_the_run_go_before_success() -> None:
    row = ended(workflow="docs")
    seen = card(run=row, pull=pull(), verdict="changes_requested", served=False)
    assert moves(seen, end(Ending.SUCCEEDED)) == [("Rework", "changes:r1", "In Progress")]
    served = card(run=row, pull=pull(), verdict="changes_requested", served=True)
    assert moves(served, end(Ending.SUCCEEDED)) == []


def test_the_sentence_under_a_column_says_where_its_cards_go() -> None:
    said = {name: consequence(column) for name, column in POLICY.board.columns.items()}
    ways = "Then: success → Review, failure → Triage, changes requested → In Progress."
    assert said["In Progress"].endswith(f"no network. {ways}")
    assert (said["Strict"], said["Triage"]) == ("People review here.", "Ideas wait here. Nothing runs.")
    reviewed = "Review: {archetype: review, on_changes_requested: {move: Rework}}"
    text = TEXT.replace("Review: {archetype: review}", reviewed)
    review_column = parse(text, home="acme/board").board.columns["Review"]
    assert consequence(review_column) == "People review here. Then: changes requested → Rework."
