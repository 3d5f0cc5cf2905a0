"""What an answer means: only Cardinal's own choices have codes, and only codes count."""

import pytest

from ledger.events.run import QuestionAnswered, QuestionAsked
from ledger.ids import QuestionId, RunId
from ledger.rows import limit_answers
from ledger.rows.limit_answers import AnswerChoice, Code, QuestionSource, Subject

R1, Q1 = RunId("r1"), QuestionId("r1-q1")
LIMIT = (limit_answers.GO_ON, limit_answers.STOP)
LABELS = tuple(answer_choice.label for answer_choice in limit_answers.RESERVED)


def own(subject: Subject, *choices: AnswerChoice) -> QuestionAsked:
    return limit_answers.question(R1, Q1, subject, "?", choices or LIMIT)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("said", ["1", "yes", "go on", "green, please", "no", "stop", "Publish it anyway"])
def test_whatever_is_answered_to_an_agent_is_words_and_gives_nothing(label: str, said: str) -> None:
    sizes = "The change is large: 60 files of at most 40. Publish it?"
    for event in (
        limit_answers.of_agent(R1, Q1, sizes, (label, limit_answers.STOP.label)),
        QuestionAsked(R1, Q1, "agent", sizes, (label, limit_answers.STOP.label)),
        QuestionAsked(R1, Q1, "agent", sizes, (label,), Subject.BUDGET, (Code.GO_ON,), 60, 60, 60),
        QuestionAsked(R1, Q1, "somebody", sizes, (label,), Subject.SIZE, (Code.PUBLISH,), 60, 60, 60),
    ):
        for text in (said, label):
            code = limit_answers.code_of(event, "", text)
            assert (code, limit_answers.limit_extended_by(event, code)) == (Code.WORDS, None)
        assert [limit_answers.code_of(event, code, "") for code in Code] == [Code.WORDS] * len(Code)
        assert limit_answers.subject_of(event) is Subject.WORK


@pytest.mark.parametrize(
    ("said", "code"),
    [("1", Code.GO_ON), (" 2 ", Code.STOP), ("Yes", Code.GO_ON), ("no, thanks", Code.STOP),
     ("Stop.", Code.STOP), ("3", Code.WORDS), ("", Code.WORDS),
     ("continue, with the same limits again.", Code.GO_ON),
     ("green, please", Code.WORDS), ("go on, but hurry", Code.WORDS), ("no idea", Code.WORDS),
     ("not yet", Code.WORDS), ("Raised the budget by $9.00", Code.WORDS)],
)  # fmt: skip
def test_a_limit_is_answered_by_number_label_or_a_plain_yes_or_no(said: str, code: Code) -> None:
    assert limit_answers.code_of(own(Subject.BUDGET), "", said) is code


def test_a_yes_never_picks_a_choice_that_is_no_yes() -> None:
    leaving = own(Subject.LEAVING, limit_answers.CANCEL, limit_answers.FINISH)
    rebase = own(Subject.REBASE, limit_answers.WITHOUT_REBASE, limit_answers.TRY_AGAIN, limit_answers.STOP)
    assert [limit_answers.code_of(one, "", "yes") for one in (leaving, rebase)] == [Code.WORDS, Code.WORDS]


@pytest.mark.parametrize("subject", Subject)
def test_going_on_extends_only_the_limit_that_was_asked_about(subject: Subject) -> None:
    limits = (Subject.BUDGET, Subject.TIME, Subject.TURNS, Subject.TOKENS, Subject.REPAIRS)
    event = own(subject)
    given_subject = limit_answers.limit_extended_by(event, Code.GO_ON)
    assert given_subject is (subject if subject in limits else None)
    others = [limit_answers.limit_extended_by(event, code) for code in Code if code is not Code.GO_ON]
    assert others == [None] * len(others)


def test_a_code_counts_only_where_the_question_offers_it() -> None:
    assert limit_answers.code_of(own(Subject.BUDGET), Code.PUBLISH, "1") is Code.WORDS
    assert limit_answers.code_of(own(Subject.BUDGET), Code.RAISED, "$2") is Code.RAISED
    assert limit_answers.code_of(own(Subject.TIME), Code.RAISED, "$2") is Code.WORDS


def test_an_answer_says_what_it_means_who_asked_and_about_what() -> None:
    event = limit_answers.answer_question(own(Subject.TIME), by="ann", text="1")
    assert event == QuestionAnswered(R1, Q1, "ann", "1", Code.GO_ON, QuestionSource.SUPERVISOR, Subject.TIME)
    event = limit_answers.answer_question(
        own(Subject.LEAVING, limit_answers.CANCEL, limit_answers.FINISH), by="ann", text="2"
    )
    assert (event.code, event.asker) == (Code.FINISH, QuestionSource.RULES)


@pytest.mark.parametrize("label", LABELS)
def test_an_agent_may_not_offer_what_looks_like_a_choice_of_cardinals(label: str) -> None:
    assert limit_answers.is_reserved(label)
    assert limit_answers.is_reserved(f" {label.upper()}! ")
    assert not limit_answers.is_reserved("Green")


@pytest.mark.parametrize(
    ("asker", "number", "codes"),
    [("permission", 3, (Code.ALLOW_ONCE, Code.ALLOW_CARD, Code.DENY)),
     ("guard", 2, (Code.PUBLISH, Code.STOP)),
     ("stage", 3, (Code.GO_ON, Code.BACK, Code.STOP)), ("leave", 2, (Code.CANCEL, Code.FINISH)),
     ("agent", 2, ()), ("budget", 3, ())],
)  # fmt: skip
def test_what_was_asked_before_there_were_codes_is_known_by_asker_and_place(
    asker: str, number: int, codes: tuple[Code, ...]
) -> None:
    old = QuestionAsked(R1, Q1, asker, "?", ("a", "b", "c")[:number])
    assert limit_answers.codes_of(old) == codes
