"""`/cardinal answer`: the open question gets its answer and the same session goes on."""

import pytest

from ledger.event import RuleEvent
from ledger.events.run import RunRequeued, RunStopAsked
from ledger.rows.limit_answers import Code
from ledger.states import RunState
from rules.intents.outbound import Intent
from tests.rules.commands.cases import handled, told
from tests.rules.scene import LEAVING, QUESTION, R1, a_question, answer_to, asks, card, given, kinds, run

PARKED = card(run=run(RunState.PARKED), questions=(QUESTION,))
Q1 = QUESTION.question_id


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2", "8081"),
        ("8080", "8080"),
        ("9", "9"),
        ("any free port", "any free port"),
        ("2\n\n> Which port?", "8081"),
        ("0", "0"),
    ],
)
def test_a_number_picks_a_choice_and_words_stay_words(text: str, answer: str) -> None:
    assert handled("answer", PARKED, text) == (
        answer_to(QUESTION, answer),
        RunRequeued(R1, "answered"),
    )


def test_a_run_that_is_not_parked_yet_is_not_taken_from_its_worker() -> None:
    assert kinds(handled("answer", card(run=run(), questions=(QUESTION,)), "1")) == ["QuestionAnswered"]


def test_a_ticked_choice_answers() -> None:
    event = given("answer", "2", source="box:choice:r1-q1:2")
    assert answer_to(QUESTION, "8081") in asks(PARKED, event)


@pytest.mark.parametrize("source", ["box:choice:r1-q9:2", "box:choice:r9-q1:2"])
def test_a_choice_of_another_question_changes_nothing(source: str) -> None:
    assert kinds(asks(PARKED, given("answer", "2", source=source))) == ["Say", "WriteRunComment"]


def leaving(text: str) -> tuple[Intent | RuleEvent, ...]:
    return handled("answer", card(run=run(), questions=(LEAVING,), held_back="Review"), text)


def test_the_first_choice_about_leaving_cancels_the_run() -> None:
    answer, stop = leaving("1")
    assert answer == answer_to(LEAVING, "Cancel the run", Code.CANCEL)
    assert isinstance(stop, RunStopAsked)
    assert stop.how == "cancel"


def test_the_second_choice_about_leaving_lets_the_run_finish() -> None:
    assert leaving("let it finish") == (answer_to(LEAVING, "Let it finish", Code.FINISH),)


def test_words_are_no_choice_about_leaving() -> None:
    assert "choose a number (1: Cancel the run, 2: Let it finish)" in told(
        "answer", card(run=run(), questions=(LEAVING,)), "maybe"
    )


def test_without_an_open_question_it_says_so() -> None:
    assert "No question is open" in told("answer", card(run=run()), "1")
    assert "No question is open" in told("answer", card(), "1")


def test_a_question_without_choices_takes_a_number_as_words() -> None:
    how_many = a_question(Q1, "agent", "How many?", ())
    snapshot = card(run=run(RunState.PARKED), questions=(how_many,))
    assert handled("answer", snapshot, "2")[0] == answer_to(how_many, "2")
