"""What a card waits for and how its commit was validated: closed sets, told from the ledger's rows alone."""

from dataclasses import replace

import pytest

from bot.render.board.card_fields import KINDS, OPTIONS, SINGLE_SELECT, FaceField
from bot.render.board.face_choices import ValidationResult, WaitingOn, choose_validation, choose_wait
from ledger.events.board import CardStateChanged
from ledger.events.run import QuestionAsked, RunEnded, RunParked
from ledger.ids import QuestionId, RunId
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, Gate, PullCard, PullState, Reason, RunState
from ledger.views import runs
from tests.bot.render.past import CARD, RUN, Past, R

COLORS = {"GRAY", "BLUE", "GREEN", "YELLOW", "ORANGE", "RED", "PINK", "PURPLE"}


def run_of(past: Past, run_id: RunId = RUN) -> RunRow:
    with event_store.reading(past.engine) as db:
        found = runs.get(db, run_id)
    assert found is not None
    return found


def waits(past: Past, **changes: object) -> WaitingOn:
    return choose_wait(replace(past.row(), **changes), run_of(past), checking=False)  # type: ignore[arg-type]


def at_rest(past: Past, state: CardState, **changes: object) -> WaitingOn:
    card: CardRow = replace(past.row(), state=state, **changes)  # type: ignore[arg-type]
    ended = replace(run_of(past), ending=Ending.SUCCEEDED, state=RunState.ENDED)
    return choose_wait(card, ended, checking=False)


def test_each_field_of_choices_has_all_its_values_as_coloured_options() -> None:
    assert {name for name in FaceField if KINDS[name] == SINGLE_SELECT} == {*OPTIONS}
    assert {*OPTIONS[FaceField.VALIDATION]} == {*ValidationResult} - {ValidationResult.NONE}
    assert {*OPTIONS[FaceField.WAITS]} == {*WaitingOn} - {WaitingOn.NOTHING}
    assert {color for options in OPTIONS.values() for color in options.values()} <= COLORS


def test_a_queued_card_waits_for_a_slot_another_card_or_a_person(past: Past) -> None:
    assert waits(past) is WaitingOn.SLOT
    assert waits(past, reason=Reason.DEPENDENCY) is WaitingOn.CARD
    assert waits(past, reason=Reason.PERSON) is WaitingOn.PERSON  # its card left the column, say
    assert waits(past, reason=Reason.STOPPED) is WaitingOn.STOP
    assert waits(past, reason=Reason.HALTED) is WaitingOn.HALT
    assert waits(past, reason=Reason.BUDGET) is WaitingOn.BUDGET
    assert waits(past, reason=Reason.GITHUB_LIMIT) is WaitingOn.GITHUB
    assert waits(past, state=CardState.NEEDS_INPUT, reason=Reason.DEPENDENCY) is WaitingOn.PERSON
    assert waits(past, state=CardState.BLOCKED, reason=Reason.BLOCKED) is WaitingOn.PERSON


def test_a_plan_waits_for_its_approval(past: Past) -> None:
    past.planned()
    assert waits(past) is WaitingOn.APPROVAL


@pytest.mark.parametrize("parked", [False, True])
def test_a_run_that_asks_waits_for_an_answer_before_and_after_it_is_parked(past: Past, parked: bool) -> None:
    past.step(R.PREPARING, R.WORKING)
    assert waits(past) is WaitingOn.NOTHING
    past(QuestionAsked(RUN, QuestionId("q1"), "agent", "Which one?", ()))
    if parked:
        past(RunParked(RUN, "question"))
    assert waits(past) is WaitingOn.ANSWER


def test_a_paused_run_waits_for_a_person(past: Past) -> None:
    past.step(R.PREPARING, R.WORKING)
    past(RunParked(RUN, "pause"), CardStateChanged(CARD, CardState.QUEUED, CardState.BLOCKED, "paused"))
    assert waits(past) is WaitingOn.PERSON


def test_a_run_in_validation_waits_for_its_checks(past: Past) -> None:
    past.step(R.PREPARING, R.WORKING, R.VALIDATING)
    assert waits(past) is WaitingOn.CHECKS
    assert choose_validation(run_of(past), Gate.PASSED, checking=False) is ValidationResult.RUNNING


@pytest.mark.parametrize(
    ("state", "changes", "expected"),
    [
        (CardState.WORK_COMPLETE, {"pull_state": PullState.OPEN}, WaitingOn.REVIEW),
        (CardState.IN_REVIEW, {"pull_state": PullState.OPEN}, WaitingOn.REVIEW),
        (CardState.IN_REVIEW, {"pull_state": PullState.NONE}, WaitingOn.PERSON),  # there is nothing to review
        (CardState.WORK_COMPLETE, {"pull_state": PullState.MERGED}, WaitingOn.PERSON),  # drags it on
        (CardState.CHANGES_REQUESTED, {"pull_state": PullState.OPEN}, WaitingOn.PERSON),
        (CardState.APPROVED, {"pull_state": PullState.OPEN}, WaitingOn.PERSON),
        (CardState.FAILED, {}, WaitingOn.PERSON),
        (CardState.BLOCKED, {"reason": Reason.CHECKS_RED}, WaitingOn.PERSON),
        (CardState.BLOCKED, {"reason": Reason.MERGE_LANE}, WaitingOn.CARD),
        (CardState.BLOCKED, {"reason": Reason.MERGE_TURN}, WaitingOn.NOTHING),
        (CardState.DONE, {"reason": Reason.MERGE_QUEUE}, WaitingOn.CHECKS),
        (CardState.DONE, {}, WaitingOn.NOTHING),
        (CardState.DRAFT, {}, WaitingOn.NOTHING),
        (CardState.NEEDS_INPUT, {"assistant_waits": True}, WaitingOn.ANSWER),
        (CardState.NEEDS_INPUT, {}, WaitingOn.PERSON),
        (CardState.DISCUSSING, {"body": "", "brief": ""}, WaitingOn.PERSON),
        (CardState.DISCUSSING, {"body": "Words", "brief": ""}, WaitingOn.NOTHING),
        (CardState.DISCUSSING, {"body": "Words", "brief": "Done when"}, WaitingOn.PERSON),
        (CardState.DISCUSSING, {"brief": "Done when", "last_said": 5}, WaitingOn.NOTHING),
        (CardState.FAILED, {"archived": True}, WaitingOn.NOTHING),
        *((CardState.BLOCKED, {"pull_card": kind}, WaitingOn.NOTHING) for kind in PullCard if kind),
    ],
)
def test_a_card_at_rest_waits_for_whoever_acts_next(
    past: Past, state: CardState, changes: dict[str, object], expected: WaitingOn
) -> None:
    assert at_rest(past, state, **changes) is expected


def test_a_card_whose_commit_is_checked_waits_for_the_checks_whatever_its_state(past: Past) -> None:
    past(RunEnded(RUN, Ending.SUCCEEDED, "", "", ""))
    for state in CardState:
        card = replace(past.row(), state=state)
        assert choose_wait(card, run_of(past), checking=True) is WaitingOn.CHECKS
    assert choose_validation(run_of(past), Gate.UNSEEN, checking=True) is ValidationResult.RUNNING


def test_every_result_of_the_gate_has_its_option(past: Past) -> None:
    options = {gate: choose_validation(run_of(past), gate, checking=False) for gate in Gate}
    assert options == {
        Gate.PASSED: ValidationResult.PASSED,
        Gate.FAILED: ValidationResult.FAILED,
        Gate.NOTHING: ValidationResult.WAIVED,
        Gate.UNSEEN: ValidationResult.NOT_RUN,
    }
    assert choose_validation(None, None, checking=False) is ValidationResult.NONE


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("card_state", CardState)
def test_every_state_of_a_card_and_its_run_has_one_answer(
    past: Past, state: RunState, card_state: CardState
) -> None:
    run = replace(run_of(past), state=state, ending=Ending.FAILED if state is RunState.ENDED else None)
    found = choose_wait(replace(past.row(), state=card_state), run, checking=False)
    held = state not in (RunState.QUEUED, RunState.PARKED, RunState.AWAITING_APPROVAL, RunState.ENDED)
    assert not held or found in (WaitingOn.NOTHING, WaitingOn.CHECKS)
