"""What a queued run says of the issues that its card waits for, and when it needs a person's word."""

from dataclasses import replace
from functools import partial

import pytest

from ledger.events.board import CardExplained
from ledger.events.related import LinksSeen
from ledger.events.run import QuestionAnswered, QuestionAsked, RunQueued
from ledger.ids import CardId, RunId
from ledger.rows.links import LinkRow
from ledger.states import BY_ITSELF, CardState, Ending, Reason, RunKind, RunState
from rules.card.dependencies import why_waiting
from rules.handlers.failed_run import retry_part
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import Say
from rules.snapshot import FailedPart
from tests.rules.scene import (
    CARD,
    NOW,
    POLICY,
    R1,
    a_question,
    asks,
    card,
    ended,
    given,
    kinds,
    only,
    policy,
    pull,
    run,
    states,
)

LINKED = LinksSeen(CARD, (), 0, "")
QUEUED = run(RunState.QUEUED)


def blocker(number: int, state: str = "open", title: str = "Tables") -> LinkRow:
    issue_ref = ("acme/shop", number) if number else ("", -1)
    return LinkRow(CARD, *issue_ref, title, state, done=False, public=not number)


def private(state: str = "open") -> LinkRow:
    return LinkRow(CARD, "acme/vault", 7, "Keys", state, done=False, public=False)


@pytest.mark.parametrize(
    ("blockers", "said"),
    [
        ((blocker(3),), "waiting for #3 (Tables): it starts on its own then"),
        ((blocker(3), blocker(4, "completed")), "waiting for #3 (Tables): it"),
        (tuple(blocker(n, title="") for n in (3, 4, 5, 6, 7)), "waiting for #3, #4, #5 and 2 more: it"),
        ((blocker(0, title=""),), "waiting for 1 issue that Cardinal cannot see: it"),
        ((private(), blocker(3)), "waiting for #3 (Tables) and an issue in another repository: it"),
        ((private(), private()), "waiting for 2 issues in other repositories: it"),
        (
            (blocker(3), blocker(0, title="")),
            "waiting for #3 (Tables) and 1 issue that Cardinal cannot see: it",
        ),
    ],
)
def test_it_says_for_what_it_waits(blockers: tuple[LinkRow, ...], said: str) -> None:
    intents = asks(card(state=CardState.QUEUED, run=QUEUED, blockers=blockers), LINKED)
    assert only(intents, CardExplained).because.startswith(said)
    assert "Say" not in kinds(intents)


def test_sub_issues_hold_it_after_its_blockers() -> None:
    parts = (blocker(5), private())
    waits = card(state=CardState.QUEUED, run=QUEUED, parts=parts)
    assert only(asks(waits, LINKED), CardExplained).because.startswith(
        "waiting for 2 sub-issues, #5 (Tables) and an issue in another repository: it starts by itself when"
    )
    both = replace(waits, blockers=(blocker(3),))
    assert only(asks(both, LINKED), CardExplained).because.startswith("waiting for #3 (Tables): it starts")


@pytest.mark.parametrize(
    ("rules", "state", "waits"),
    [
        ("sub_issues: wait", CardState.DRAFT, True),
        ("sub_issues: wait", CardState.CHANGES_REQUESTED, False),
        ("sub_issues: ignore", CardState.DRAFT, False),
    ],
)
def test_the_column_says_whether_a_new_run_waits_for_sub_issues(
    rules: str, state: CardState, waits: bool
) -> None:
    rules_of = policy(f"In Progress: {{archetype: execution, {rules}}}")
    open_pull = pull() if state is CardState.CHANGES_REQUESTED else None
    intents = asks(card(state=state, pull=open_pull), given("retry"), by=rules_of)
    assert only(intents, QueueRun).waits_for_parts is waits


def test_one_that_was_given_up_or_a_circle_needs_a_word_and_a_comment() -> None:
    left = card(state=CardState.QUEUED, run=QUEUED, blockers=(blocker(3), blocker(4, "not_planned")))
    way = (blocker(1), private(), blocker(1))
    around = card(state=CardState.QUEUED, run=QUEUED, circle=way, blockers=(blocker(3),))
    hidden = card(state=CardState.QUEUED, run=QUEUED, blockers=(private("not_planned"),))
    for snapshot, words in (
        (left, "#4 (Tables), closed as not planned"),
        (around, "(#1 → an issue in another repository → #1)"),
        (hidden, "waiting for an issue in another repository, closed as not planned"),
    ):
        intents = asks(snapshot, LINKED)
        assert states(intents) == [CardState.NEEDS_INPUT]
        assert words in only(intents, ChangeCardState).because
        assert words in only(intents, Say).text
        assert only(intents, Say).text.startswith("r1 is waiting for")
        assert "vault" not in repr(intents)  # its key stands in the comment, too


def test_when_nothing_holds_it_back_it_waits_for_its_turn() -> None:
    done = (blocker(3, "completed"),)
    waited = card(state=CardState.QUEUED, reason=Reason.DEPENDENCY, run=QUEUED, blockers=done)
    assert only(asks(waited, LINKED), CardExplained).because == "r1 is waiting for its turn"
    free = card(state=CardState.QUEUED, because="waiting for #3 (Tables)", run=QUEUED, blockers=done)
    assert asks(free, LINKED) == ()


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.QUEUED])
def test_a_run_that_has_begun_goes_on(state: RunState) -> None:
    assert asks(card(run=run(state)), LINKED) == ()
    assert asks(card(run=None), LINKED) == ()


def test_a_run_that_is_queued_asks_at_once() -> None:
    snapshot = card(state=CardState.BLOCKED, run=QUEUED, blockers=(blocker(4, "not_planned"),))
    event = RunQueued(
        R1, CARD, 1, RunKind.FIRST, "In Progress", "acme/shop", "b", "scripted", "ann", "", "{}", True
    )
    assert "closed as not planned" in only(asks(snapshot, event), Say).text
    assert why_waiting(POLICY, card(run=QUEUED)) is None


LOST = ended(Ending.FAILED, run_id=RunId("r7"), detail="it gave up.")
FAILED = FailedPart(LOST, blocker(5), is_here=True)
OPEN = a_question(
    "r1-b1",
    "part",
    "#5 failed",
    ("Continue without it", "Retry it", "Stop here"),
    subject="part",
    codes=("without_part", "retry_part", "stop"),
    part="r7",
)


def test_a_sub_issue_that_failed_asks_at_its_parent_once() -> None:
    elsewhere = FailedPart(replace(LOST, run_id=RunId("r8")), private(), is_here=False)
    waits = card(state=CardState.QUEUED, run=QUEUED, parts=(blocker(5),), failed_parts=(FAILED, elsewhere))
    first = only(asks(waits, LINKED), QuestionAsked)
    assert (first.part, first.codes) == ("r7", ("without_part", "retry_part", "stop"))
    assert "#5 (Tables) failed: It gave up. Continue" in first.text
    snapshot = replace(waits, questions=(replace(OPEN, answered_at=NOW, answered_by="bob"),))
    second = only(asks(snapshot, LINKED), QuestionAsked)
    again = replace(waits, questions=(replace(OPEN, answered_at=NOW, answered_by=BY_ITSELF),))
    assert only(asks(again, LINKED), QuestionAsked).part == "r7"  # it was closed meanwhile, and reopened
    assert (second.part, second.codes) == ("r8", ("without_part", "stop"))
    assert "vault" not in repr(second)
    assert "gave up" not in second.text
    busy = replace(waits, run=QUEUED, questions=(OPEN,))
    assert "QuestionAsked" not in kinds(asks(busy, LINKED))
    assert "QuestionAsked" not in kinds(asks(replace(waits, run=run(RunState.WORKING)), LINKED))


def test_a_question_about_a_sub_issue_that_was_retried_meanwhile_is_settled() -> None:
    over = card(state=CardState.NEEDS_INPUT, run=QUEUED, questions=(OPEN,))
    assert only(asks(over, LINKED), QuestionAnswered).question_id == "r1-b1"


@pytest.mark.parametrize(
    ("number", "code", "stops"), [("1", "without_part", 0), ("2", "retry_part", 0), ("3", "stop", 1)]
)
def test_an_answer_about_a_sub_issue_has_a_meaning(number: str, code: str, stops: int) -> None:
    snapshot = card(state=CardState.NEEDS_INPUT, run=QUEUED, questions=(OPEN,), failed_parts=(FAILED,))
    intents = asks(snapshot, given("answer", number))
    assert only(intents, QuestionAnswered).code == code
    assert kinds(intents).count("RunStopAsked") == stops


def test_who_may_not_retry_answers_nothing_about_a_sub_issue() -> None:
    snapshot = card(state=CardState.NEEDS_INPUT, run=QUEUED, questions=(OPEN,), failed_parts=(FAILED,))
    board = POLICY.board.model_copy(update={"commands": {"retry": ("admin",)}})
    strict = POLICY.model_copy(update={"board": board})
    assert "QuestionAnswered" not in kinds(asks(snapshot, given("answer", "2"), by=strict))
    assert "QuestionAnswered" in kinds(asks(snapshot, given("answer", "2", role="admin"), by=strict))


def test_a_sub_issue_is_retried_unless_somebody_was_faster_or_it_may_not_start() -> None:
    lost = card(run=ended(Ending.FAILED), attempts=1)
    retry = partial(retry_part, POLICY, failed=R1, by="bob", whole=CardId("PVTI_9"))
    queued = only(retry(lost).intents, QueueRun)
    assert (queued.kind, queued.by, queued.door) == ("retry", "bob", "parent")
    assert retry(card(run=ended(Ending.FAILED, run_id=RunId("r2")))).intents == ()
    say = only(retry(replace(lost, closed="completed")).intents, Say)
    assert (say.card_id, say.text[:36]) == ("PVTI_9", "#12 was not retried: the issue is cl")
