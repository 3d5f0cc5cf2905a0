"""A card that is dragged out mid-run is put back until somebody has chosen, unless the policy has."""

from datetime import timedelta

import pytest

from ledger.events.board import CardArrived, CardHeldBack, CardMoved
from ledger.events.run import QuestionAnswered, QuestionAsked, RunEnded, RunStopAsked
from ledger.rows.limit_answers import CANCEL, FINISH, Subject
from ledger.states import CardState, Ending, RunState, StopKind
from rules.card.left_column import MAX_BACK
from rules.intents.internal import QueueRun
from rules.intents.outbound import MoveCard, Say
from rules.snapshot import Snapshot
from tests.rules import scene
from tests.rules.scene import (
    CARD,
    LEAVING,
    QUESTION,
    R1,
    asks,
    card,
    ended,
    given,
    kinds,
    only,
    pull,
    run,
    states,
)

OUT = CardMoved(CARD, "In Progress", "Review", by_cardinal=False)
BACK = CardMoved(CARD, "Review", "In Progress", by_cardinal=True)
ARRIVED = CardArrived(CARD, "In Progress", scene.NOW)
S = CardState


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.ENDED])
def test_it_asks_whatever_the_live_run_is_doing(state: RunState) -> None:
    intents = asks(card("Review", run=run(state)), OUT)
    assert kinds(intents) == ["CardHeldBack", "MoveCard", "QuestionAsked"]
    assert only(intents, CardHeldBack).wanted == "Review"
    assert only(intents, MoveCard).column == "In Progress"
    assert only(intents, MoveCard).source == "Review"
    event = only(intents, QuestionAsked)
    assert (event.subject, event.choices) == (Subject.LEAVING, (CANCEL.label, FINISH.label))
    assert "`Review`" in event.text


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.PARKED])
@pytest.mark.parametrize("after", ["Review", "Tasks", None])
@pytest.mark.parametrize("rule", ["ask", "cancel", "finish"])
def test_a_run_that_never_began_is_simply_let_go(state: RunState, after: str | None, rule: str) -> None:
    policy = scene.policy(
        f"In Progress: {{archetype: execution, on_leave: {rule}}}\nTasks: {{archetype: inbox}}"
    )
    moved = CardMoved(CARD, "In Progress", after, by_cardinal=False)
    (end,) = asks(card(after, run=run(state, claimed_at=None)), moved, by=policy)
    assert isinstance(end, RunEnded)
    assert (end.ending, end.reason) == (Ending.CANCELLED, "superseded")
    assert end.detail.endswith("before r1 began")
    policy = scene.policy("In Progress: {archetype: execution, on_exit: [{action: ai_task, prompt: Sum up}]}")
    assert kinds(asks(card(after, run=run(state, claimed_at=None)), moved, by=policy)) == [
        "RunTask",
        "RunEnded",
    ]


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (card(run=run()), "is working"),
        (card(run=run(RunState.PARKED), questions=(QUESTION,)), "is waiting for an answer"),
        (card(run=run(RunState.AWAITING_APPROVAL)), "is waiting for its plan"),
        (card(run=run(RunState.QUEUED)), "is waiting to resume"),
    ],
)
def test_out_and_back_unseen_lets_a_run_go_on_and_says_how_to_begin_anew(live: Snapshot, said: str) -> None:
    (told,) = asks(live, ARRIVED)
    assert isinstance(told, Say)
    assert said in told.text
    assert "`/cardinal retry`" in told.text


def test_out_and_back_unseen_cancels_where_the_policy_says_so_and_leaves_a_queue_alone() -> None:
    cancel = scene.policy("In Progress: {archetype: execution, on_leave: cancel}")
    assert only(asks(card(run=run()), ARRIVED, by=cancel), RunStopAsked).how == "cancel"
    waits = card(run=run(RunState.QUEUED, claimed_at=None))
    assert asks(waits, ARRIVED, by=cancel) == asks(waits, ARRIVED) == ()


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.CANCELLED, Ending.LOST])
def test_out_and_back_unseen_starts_again_as_a_drag_does(ending: Ending) -> None:
    assert only(asks(card(run=ended(ending)), ARRIVED), QueueRun).kind == "retry"
    assert only(asks(card(run=ended(Ending.SUCCEEDED), pending_threads=1, pull=pull()), ARRIVED), QueueRun)


def test_out_and_back_that_is_told_late_starts_nothing_that_has_begun_since() -> None:
    since = card(run=ended(Ending.FAILED), begun=(scene.NOW + timedelta(seconds=1),))
    assert asks(since, ARRIVED) == ()
    assert asks(card("Review", run=ended(Ending.FAILED)), ARRIVED) == ()


def test_dragged_again_it_remembers_the_new_wish_and_does_not_ask_twice() -> None:
    intents = asks(card("Review", run=run(), questions=(LEAVING,), held_back="Done"), OUT)
    assert kinds(intents) == ["CardHeldBack", "MoveCard"]


def test_while_the_agent_asks_something_the_ways_out_are_told_instead() -> None:
    intents = asks(card("Review", run=run(RunState.PARKED), questions=(QUESTION,)), OUT)
    assert kinds(intents) == ["CardHeldBack", "MoveCard", "Say"]
    assert "`/cardinal finish`" in only(intents, Say).text


def test_a_card_that_lost_its_status_is_put_back_and_told() -> None:
    snapshot = card(None, run=run())
    intents = asks(snapshot, CardMoved(CARD, "In Progress", None, by_cardinal=False))
    assert kinds(intents) == ["MoveCard", "Say"]


def test_the_policy_may_cancel_or_let_finish_without_asking() -> None:
    cancel = scene.policy("In Progress: {archetype: execution, on_leave: cancel}")
    assert only(asks(card("Review", run=run()), OUT, by=cancel), RunStopAsked).how == "cancel"
    finish = scene.policy("In Progress: {archetype: execution, on_leave: finish}")
    assert kinds(asks(card("Review", run=run()), OUT, by=finish)) == ["CardHeldBack", "MoveCard"]


def test_a_card_whose_run_is_being_cancelled_may_go() -> None:
    assert asks(card("Review", run=run(stop_asked=StopKind.CANCEL)), OUT) == ()


def test_back_in_its_column_it_waits_for_the_choice() -> None:
    assert states(asks(card(run=run(), questions=(LEAVING,), held_back="Review"), BACK)) == [S.NEEDS_INPUT]


def test_somebody_who_puts_it_back_has_chosen_to_stay() -> None:
    event = CardMoved(CARD, "Review", "In Progress", by_cardinal=False)
    intents = asks(card(run=run(), questions=(LEAVING,), held_back="Review"), event)
    assert only(intents, CardHeldBack).wanted == ""
    assert only(intents, QuestionAnswered).question_id == LEAVING.question_id


def test_a_card_that_is_dragged_back_while_its_run_lives_starts_no_second_one() -> None:
    event = CardMoved(CARD, "Review", "In Progress", by_cardinal=False)
    assert "QueueRun" not in kinds(asks(card(run=run()), event))


@pytest.mark.parametrize("ending", Ending)
def test_when_the_run_has_ended_the_card_goes_where_it_was_wanted(ending: Ending) -> None:
    intents = asks(card(run=ended(ending), held_back="Review"), RunEnded(R1, ending, "", "", ""))
    assert only(intents, MoveCard).column == "Review"
    assert only(intents, CardHeldBack).wanted == ""
    assert kinds(intents).index("PostReport") < kinds(intents).index("MoveCard")


@pytest.mark.parametrize(
    ("snapshot", "state"),
    [
        (card("Review", S.WORKING, run=ended(Ending.CANCELLED), pull=pull()), S.IN_REVIEW),
        (card("Tasks", S.WORKING, run=ended(Ending.CANCELLED)), S.DRAFT),
    ],
)
def test_a_card_that_was_let_go_at_once_is_served_when_its_run_has_ended(
    snapshot: Snapshot, state: CardState
) -> None:
    intents = asks(snapshot, RunEnded(R1, Ending.CANCELLED, "cancelled", "", ""))
    assert states(intents) == [state]
    assert "MoveCard" not in kinds(intents)


def test_what_keeps_dragging_a_card_away_gets_its_way_in_the_end() -> None:
    pushed = card("Review", run=run(), questions=(LEAVING,), held_back="Review", put_back=MAX_BACK)
    intents = asks(pushed, OUT)
    assert kinds(intents) == ["CardHeldBack", "Say"]
    assert "automation" in only(intents, Say).text
    assert only(asks(pushed, OUT), Say).about == only(intents, Say).about


def test_the_choice_stays_open_behind_a_question_of_the_agent() -> None:
    both = card(
        run=run(RunState.PARKED),
        questions=(
            LEAVING,
            QUESTION,
        ),
        held_back="Review",
    )
    ticked = given("answer", "2", source=f"box:choice:{LEAVING.question_id}:2")
    assert only(asks(both, ticked), QuestionAnswered).question_id == LEAVING.question_id
    assert only(asks(both, given("finish")), QuestionAnswered).question_id == LEAVING.question_id
    assert only(asks(both, given("answer", "2")), QuestionAnswered).question_id == QUESTION.question_id


def test_cardinals_own_move_is_no_leaving() -> None:
    event = CardMoved(CARD, "In Progress", "Review", by_cardinal=True)
    assert "QuestionAsked" not in kinds(asks(card("Review", run=run()), event))
