"""What a run's events mean for what people see and for the card."""

from dataclasses import replace

import pytest

from ledger.events import run as runs
from ledger.events.agent import CallRefused, HostReached, ProviderFailed, TodoListed
from ledger.events.board import CardMoved, CardSeen
from ledger.events.budget import BudgetRaised, BudgetReserved
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import PullOpened
from ledger.events.related import CardLinked, CardProposed, PipelineLimited
from ledger.events.run import RunEnded, RunRequeued
from ledger.ids import CardId, EntryKey, QuestionId, RunId
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, RunKind, RunState, StopKind
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import (
    CreateCard,
    LinkCard,
    MarkReady,
    MoveCard,
    OpenPull,
    PostPlan,
    Say,
    UpdateTicker,
)
from tests.rules import scene
from tests.rules.scene import (
    BOARD,
    CARD,
    QUESTION,
    R1,
    a_stop,
    asks,
    card,
    ended,
    kinds,
    only,
    pull,
    run,
    states,
)

S, R = CardState, RunState
PUSHED = runs.BranchPushed(R1, "cardinal/12-add-login", "abc123")
QUEUED = runs.RunQueued(
    R1,
    CARD,
    1,
    RunKind.FIRST,
    "In Progress",
    "acme/shop",
    "b",
    "scripted",
    "bob",
    "",
    "{}",
    plan_required=True,
)


def stepped(after: RunState) -> runs.RunStepped:
    return runs.RunStepped(R1, R.CLAIMED, after)


def test_a_queued_run_is_seen_at_once() -> None:
    intents = asks(card(state=S.DISCUSSING, run=run(R.QUEUED)), QUEUED)
    assert states(intents) == [S.QUEUED]
    assert {"WriteRunComment", "UpdateFace", "UpdateTicker"} <= set(kinds(intents))
    assert only(intents, UpdateTicker).card_id == CardId(BOARD)


@pytest.mark.parametrize(
    ("kind", "now", "state"),
    [
        ("first", R.PREPARING, S.WORKING),
        ("first", R.PLANNING, S.WORKING),
        ("retry", R.WORKING, S.WORKING),
        ("revision", R.WORKING, S.REVISING),
        ("first", R.VALIDATING, S.WORKING),
        ("first", R.AWAITING_APPROVAL, S.NEEDS_INPUT),
    ],
)
def test_a_step_of_the_run_is_a_state_of_the_card(kind: str, now: RunState, state: CardState) -> None:
    assert states(asks(card(state=S.QUEUED, run=run(now, kind=kind)), stepped(now))) == [state]


def test_a_step_that_is_late_shows_what_is_now() -> None:
    assert states(asks(card(state=S.WORKING, run=run(R.AWAITING_APPROVAL)), stepped(R.PLANNING))) == [
        S.NEEDS_INPUT
    ]


def test_a_step_of_an_older_run_moves_the_card_no_more() -> None:
    event = runs.RunStepped(RunId("r0"), R.CLAIMED, R.WORKING)
    assert kinds(asks(card(state=S.QUEUED, run=run()), event)) == ["WriteRunComment", "UpdateFace"]


def test_a_plan_is_posted_once_the_run_waits_for_its_approval() -> None:
    event = runs.PlanProposed(R1, 2, "Add it", ("a", "b"))
    assert "PostPlan" not in kinds(asks(card(run=run(R.PLANNING, plan_revision=2)), event))
    waiting = run(R.AWAITING_APPROVAL, plan_revision=2)
    assert only(asks(card(run=waiting), stepped(R.AWAITING_APPROVAL)), PostPlan).revision == 2


def test_what_became_of_a_plan_is_written_into_its_comment() -> None:
    assert "PostPlan" in kinds(asks(card(run=run()), runs.PlanApproved(R1, 1, "bob")))
    assert "PostPlan" in kinds(asks(card(run=run()), runs.PlanRedirected(R1, 1, "bob", "no")))
    assert "PostPlan" not in kinds(asks(card(run=run()), runs.PlanApproved(R1, 1, "policy")))


def test_a_question_is_posted_and_the_card_needs_input() -> None:
    event = runs.QuestionAsked(R1, QUESTION.question_id, "agent", "Which port?", ())
    intents = asks(card(state=S.WORKING, run=run(), questions=(QUESTION,)), event)
    assert kinds(intents)[0] == "PostQuestion"
    assert states(intents) == [S.NEEDS_INPUT]


def test_an_answered_question_is_settled_and_a_run_that_parked_late_goes_on() -> None:
    answered = runs.QuestionAnswered(R1, QUESTION.question_id, "bob", "8080")
    assert kinds(asks(card(state=S.NEEDS_INPUT, run=run(R.QUEUED)), answered))[0] == "PostQuestion"
    late = asks(card(state=S.NEEDS_INPUT, run=run(R.PARKED)), runs.RunParked(R1, "question"))
    assert only(late, RunRequeued).why == "answered"
    paused = run(R.PARKED, stop_asked=StopKind.PAUSE)
    assert states(asks(card(run=paused), runs.RunParked(R1, "pause"))) == [S.BLOCKED]
    open_still = card(run=run(R.PARKED), questions=(QUESTION,))
    assert "RunRequeued" not in kinds(asks(open_still, runs.RunParked(R1, "question")))


def test_the_first_push_opens_the_pull_request_and_later_ones_update_it() -> None:
    assert only(asks(card(run=run()), PUSHED), OpenPull).run_id == R1
    assert "UpdatePull" in kinds(asks(card(run=run(), pull=pull()), PUSHED))
    assert "OpenPull" in kinds(asks(card(run=run(), pull=pull("closed")), PUSHED))


UNFINISHED = pull(draft=True, unfinished=True)


@pytest.mark.parametrize(
    ("now", "event"),
    [
        (run(R.PARKED), runs.RunParked(R1, "question")),
        (run(R.QUEUED), runs.RunRequeued(R1, "answered")),
        (ended(Ending.FAILED), runs.RunEnded(R1, Ending.FAILED, "stalled", "", "")),
        (ended(Ending.CANCELLED), runs.RunEnded(R1, Ending.CANCELLED, "cancelled", "", "")),
    ],
)
def test_unfinished_work_on_github_says_what_becomes_of_its_run_and_stays_a_draft(
    now: RunRow, event: runs.RunEvent
) -> None:
    intents = asks(card(run=now, pull=UNFINISHED), event)
    assert "UpdatePull" in kinds(intents)
    assert "MarkReady" not in kinds(intents)
    assert "UpdatePull" not in kinds(asks(card(run=now, pull=pull(draft=True)), event))


def test_a_draft_that_comes_later_than_the_end_of_its_unfinished_run_says_so() -> None:
    opened = PullOpened(CARD, "acme/shop", 5, "PR_1", "b", "abc123", True)
    intents = asks(card(run=ended(Ending.CANCELLED), pull=UNFINISHED), opened)
    assert "UpdatePull" in kinds(intents)
    assert "MarkReady" not in kinds(intents)


def test_a_thread_is_answered_on_the_pull_request() -> None:
    event = runs.ThreadAnswered(R1, "9", "Fixed")
    assert kinds(asks(card(run=run(), pull=pull()), event)) == ["AnswerThread"]
    assert asks(card(run=run()), event) == ()


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        (Ending.SUCCEEDED, S.WORK_COMPLETE),
        (Ending.FAILED, S.FAILED),
        (Ending.LOST, S.FAILED),
        (Ending.CANCELLED, S.BLOCKED),
    ],
)
def test_every_ending_has_one_report_and_one_state(ending: Ending, state: CardState) -> None:
    intents = asks(card(run=ended(ending)), runs.RunEnded(R1, ending, "", "no disk", "working"))
    assert kinds(intents).count("PostReport") == 1
    assert states(intents) == [state]
    assert {"WriteRunComment", "UpdateFace", "UpdateTicker"} <= set(kinds(intents))


def test_a_success_makes_its_draft_ready_even_when_the_pull_request_comes_later() -> None:
    event = runs.RunEnded(R1, Ending.SUCCEEDED, "", "", "")
    assert only(asks(card(run=ended(), pull=pull(draft=True)), event), MarkReady).about == R1
    assert "MarkReady" not in kinds(asks(card(run=ended()), event))
    opened = PullOpened(CARD, "acme/shop", 5, "PR_1", "b", "abc123", True)
    late = asks(card(state=S.WORK_COMPLETE, run=ended(), pull=pull(draft=True)), opened)
    assert only(late, MarkReady).about == R1
    assert "MarkReady" not in kinds(asks(card(run=run(), pull=pull(draft=True)), opened))


def test_a_failure_leaves_the_draft_a_draft_and_says_what_failed() -> None:
    failed = ended(Ending.FAILED, detail="the disk is full")
    event = runs.RunEnded(R1, Ending.FAILED, "repository", "", "")
    intents = asks(card(run=failed, pull=pull(draft=True)), event)
    assert "MarkReady" not in kinds(intents)
    assert only(intents, ChangeCardState).because == "r1 failed: the disk is full"


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (R.PARKED, runs.RunParked(R1, "question")),
        (R.AWAITING_APPROVAL, stepped(R.AWAITING_APPROVAL)),
        (R.QUEUED, runs.RunRequeued(R1, "reclaimed")),
    ],
)
def test_a_run_that_was_cancelled_on_its_way_to_where_nobody_holds_it_ends(
    state: RunState, event: runs.RunEvent
) -> None:
    told = run(state, stop_asked=StopKind.CANCEL, stop_by="bob", stop_why="/cardinal cancel")
    end = only(asks(card(run=told), event), RunEnded)
    assert (end.ending, end.detail) == (Ending.CANCELLED, "/cardinal cancel (bob)")


def test_a_switch_that_was_lifted_while_the_run_still_stopped_lets_it_go_on() -> None:
    parked = run(R.PARKED, stop_asked=StopKind.PAUSE, stop_why="board stopped")
    event = runs.RunParked(R1, "pause")
    assert only(asks(card(run=parked), event), RunRequeued).why == "resumed"
    still = card(run=parked, stops=(a_stop("board", BOARD, "al"),))
    assert "RunRequeued" not in kinds(asks(still, event))
    by_hand = run(R.PARKED, stop_asked=StopKind.PAUSE, stop_why="/cardinal pause")
    assert "RunRequeued" not in kinds(asks(card(run=by_hand), event))


def test_the_policy_may_move_a_card_that_succeeded_and_no_other() -> None:
    moving = scene.policy(
        "In Progress: {archetype: execution, on_success: {move: Review}}\nReview: {archetype: review}"
    )
    success = runs.RunEnded(R1, Ending.SUCCEEDED, "", "", "")
    assert only(asks(card(run=ended()), success, by=moving), MoveCard) == MoveCard(
        CARD, "Review", "success:r1", source="In Progress"
    )
    failed = runs.RunEnded(R1, Ending.FAILED, "", "", "")
    assert "MoveCard" not in kinds(asks(card(run=ended(Ending.FAILED)), failed, by=moving))


def test_a_question_that_was_open_at_the_end_is_settled() -> None:
    event = runs.RunEnded(R1, Ending.CANCELLED, "", "", "")
    assert "PostQuestion" in kinds(
        asks(card(run=ended(Ending.CANCELLED), questions=(replace(QUESTION, withdrawn=True),)), event)
    )


def test_a_plan_that_nobody_approved_before_the_end_is_settled() -> None:
    event = runs.RunEnded(R1, Ending.CANCELLED, "", "", "")
    waiting = ended(Ending.CANCELLED, plan_required=True, plan_revision=2, plan_approved=False)
    assert only(asks(card(run=waiting), event), PostPlan) == PostPlan(CARD, R1, 2)
    assert "PostPlan" not in kinds(asks(card(run=replace(waiting, plan_approved=True)), event))


@pytest.mark.parametrize(
    "event",
    [
        runs.Progressed(R1, "on it"),
        runs.PlanTicked(R1, 1),
        runs.ToolUsed(R1, "edit", "a.py", True),
        runs.UsageMetered(R1, 0.1, 1, 1, 1, 1.0),
        runs.RunStopAsked(R1, StopKind.CANCEL, "bob", ""),
        runs.CommandChecked(R1, 1, "fast", "ruff", 0, 0.1, "d", ""),
    ],
)
def test_progress_is_written_in_place(event: runs.RunEvent) -> None:
    assert kinds(asks(card(run=run()), event)) == ["WriteRunComment", "UpdateFace"]


def test_a_card_that_an_agent_wants_is_made_and_a_link_is_one_line() -> None:
    wanted = asks(card(run=run()), CardProposed(R1, 1, "Test it", "Nobody does", "out of scope"))
    assert wanted == (CreateCard(CARD, R1, 1, "Test it", "Nobody does", "out of scope"),)
    linked = CardLinked(R1, "acme/shop#7", "blocked_by", "needs\nthe table")
    said, link = asks(card(run=run()), linked)
    text = "r1 says: this is blocked by acme/shop#7 — needs the table"
    assert said == Say(CARD, "link:r1:blocked_by:acme/shop#7", text)
    assert link == LinkCard(CARD, R1, "acme/shop#7", "blocked_by")


@pytest.mark.parametrize(("target", "relation"), [("acme/shop#7", "relates"), ("acme/site#7", "blocks")])
def test_a_relation_of_another_kind_or_repository_is_only_said(target: str, relation: str) -> None:
    assert kinds(asks(card(run=run()), CardLinked(R1, target, relation, "why"))) == ["Say"]


def test_what_an_agent_may_not_make_or_link_is_said_once() -> None:
    said = {only(asks(card(run=run()), PipelineLimited(R1, "cards", 5)), Say) for _ in range(2)}
    assert {say.about for say in said} == {"pipeline:r1:cards"}
    assert "it may make 5 cards" in said.pop().text
    keys = (EntryKey(f"link:r1:blocks:acme/shop#{number}") for number in (7, 8))
    refused = [only(asks(card(), EntryGivenUp(CARD, key, "link_card", "a circle")), Say) for key in keys]
    assert {say.about for say in refused} == {"unlinked:r1"}
    assert refused[0].text == "r1 wanted a dependency with acme/shop#7, and it was not made: a circle."


@pytest.mark.parametrize("code", ["create", "deny", "words"])
def test_a_card_in_another_repository_is_made_by_somebodys_yes_alone(code: str) -> None:
    event = CardProposed(R1, 2, "Test it", "Nobody does", "why", "acme/site", "blocks", "r1-q1")
    assert asks(card(run=run()), event) == ()
    answer = runs.QuestionAnswered(R1, QuestionId("r1-q1"), "bob", "said", code, "supervisor", "elsewhere")
    decided = asks(card(run=run(), proposed=event), answer)
    create_cards = [intent for intent in decided if isinstance(intent, CreateCard)]
    expected = CreateCard(
        CARD, R1, 2, "Test it", "Nobody does", "why", repository="acme/site", relation="blocks", by="bob"
    )
    assert create_cards == ([expected] if code == "create" else [])


@pytest.mark.parametrize("event", [
    TodoListed(R1, ("a", "b"), (True, False)),
    ProviderFailed(R1, "anthropic", 529, "overloaded", 2),
    BudgetRaised(R1, 2.0, "bob"),
])  # fmt: skip
def test_what_is_seen_beside_the_agents_words_is_shown_in_the_runs_comment(event: object) -> None:
    assert set(kinds(asks(card(run=run()), event))) == {"WriteRunComment", "UpdateFace"}


@pytest.mark.parametrize("event", [
    HostReached(R1, "packages.example.com", 443, allowed=True, why="listed"),
    CallRefused(R1, "rate", "too many"),
    BudgetReserved(R1, 2.0, "", 0.0),
])  # fmt: skip
def test_what_happens_all_day_writes_nothing_by_itself(event: object) -> None:
    assert asks(card(run=run()), event) == ()


MARKED = "Nobody tests it.\n\n<!-- cardinal:card:r1:1:0 -->"


def seen_in(column: str) -> CardSeen:
    return CardSeen(CARD, BOARD, "I_1", "acme/shop", 12, "t", MARKED, "cardinal[bot]", column, S.DRAFT)


def test_an_agents_own_card_starts_no_run_until_a_person_drags_it() -> None:
    snapshot = card(state=S.DRAFT, body=MARKED)
    assert "QueueRun" not in kinds(asks(snapshot, seen_in("In Progress")))
    put = CardMoved(CARD, None, "In Progress", by_cardinal=False)
    assert "QueueRun" not in kinds(asks(snapshot, put))
    assert "QueueRun" in kinds(asks(snapshot, CardMoved(CARD, "Tasks", "In Progress", by_cardinal=False)))
    assert "QueueRun" in kinds(asks(card(state=S.DRAFT, body="A person's"), put))


def test_a_new_card_goes_on_only_where_the_policy_in_force_allows() -> None:
    rules = "archetype: execution, pipelines: {columns: [Planning], start: true, skills: [fuzzing]}"
    allows = scene.policy(f"In Progress: {{{rules}}}\nPlanning: {{archetype: planning}}")
    for policy, column, start, place, skills in (
        (allows, "planning", False, "Planning", ("fuzzing",)),
        (allows, "", True, "In Progress", ("fuzzing",)),
        (allows, "Done", False, "", ("fuzzing",)),
        (scene.POLICY, "Planning", False, "", ()),
        (scene.POLICY, "", True, "", ()),
    ):
        event = CardProposed(R1, 1, "t", "b", "r", column=column, start=start, skills=("fuzzing", "admin"))
        create_card = only(asks(card(run=run()), event, by=policy), CreateCard)
        assert (create_card.column, create_card.skills) == (place, skills)
