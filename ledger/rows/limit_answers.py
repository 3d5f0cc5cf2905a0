"""Questions to people: source, subject and the codes of their answers. Pure.

An answer counts by its code alone. A person's words become a code here, once, on arrival.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ledger.events.run import QuestionAnswered, QuestionAsked
from ledger.ids import QuestionId, RunId
from ledger.model.reply_text import ReplyChoice, read_reply
from ledger.rows.questions import QuestionRow


class QuestionSource(StrEnum):
    """Who asks. An agent's question moves no limit and permits nothing, whatever it says."""

    AGENT = "agent"
    SUPERVISOR = "supervisor"
    RULES = "rules"


class Subject(StrEnum):
    """The subject of a question."""

    WORK = "work"  # the agent's own questions
    BUDGET = "budget"  # the run's own dollars
    SHARED = "shared_budget"  # dollars that several runs share
    TIME = "time"
    TURNS = "turns"
    TOKENS = "tokens"
    REPAIRS = "repairs"
    SIZE = "size"  # of the change, and odd commits in it
    GUARD = "guard"
    WORKFLOWS = "workflows"
    REBASE = "rebase"
    START = "start"  # of the first stage
    STAGE = "stage"  # a later one
    STAGE_LOOPS = "rounds"  # through the stages
    TOOL = "tool"
    ELSEWHERE = "elsewhere"  # a card in another repository
    LEAVING = "leaving"  # the column, while its run is at work
    PART = "part"  # a sub-issue that failed, while its parent's run waits for it


class Code(StrEnum):
    """The meaning of an answer. Choices of an agent have no code: answers to its questions are WORDS."""

    WORDS = "words"
    GO_ON = "go_on"
    STOP = "stop"
    RAISED = "raised"  # the budget, by a command
    PUBLISH = "publish"
    TRY_AGAIN = "try_again"
    WITHOUT_REBASE = "without_rebase"
    BACK = "back"
    ALLOW_ONCE = "allow_once"
    ALLOW_CARD = "allow_card"
    DENY = "deny"
    CANCEL = "cancel"
    FINISH = "finish"
    CREATE = "create"
    WITHOUT_PART = "without_part"
    RETRY_PART = "retry_part"


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One answer to choose, as people read it."""

    code: Code
    label: str


GO_ON = AnswerChoice(Code.GO_ON, "Continue, with the same limits again")
AS_FAR = AnswerChoice(Code.GO_ON, "Continue as far as the limits allow")
STOP = AnswerChoice(Code.STOP, "Stop here")
PUBLISH = AnswerChoice(Code.PUBLISH, "Publish it anyway")
PUBLISH_PROTECTED = AnswerChoice(Code.PUBLISH, "Publish these files too")
WITHOUT_REBASE = AnswerChoice(Code.WITHOUT_REBASE, "Work on without the rebase")
TRY_AGAIN = AnswerChoice(Code.TRY_AGAIN, "I resolved it: try again")
ALLOW_ONCE = AnswerChoice(Code.ALLOW_ONCE, "Allow it once")
ALLOW_CARD = AnswerChoice(Code.ALLOW_CARD, "Allow it for this card from now on")
DENY = AnswerChoice(Code.DENY, "Do not allow it")
CANCEL = AnswerChoice(Code.CANCEL, "Cancel the run")
FINISH = AnswerChoice(Code.FINISH, "Let it finish")
MAKE_CARD = AnswerChoice(Code.CREATE, "Make the card there")
NO_CARD = AnswerChoice(Code.DENY, "Do not make it")
GO_WITHOUT = AnswerChoice(Code.WITHOUT_PART, "Continue without it")
RETRY_PART = AnswerChoice(Code.RETRY_PART, "Retry it")
RESERVED = (
    *(GO_ON, AS_FAR, STOP, PUBLISH, PUBLISH_PROTECTED, WITHOUT_REBASE),
    *(TRY_AGAIN, ALLOW_ONCE, ALLOW_CARD, DENY, CANCEL, FINISH, MAKE_CARD, NO_CARD),
    *(GO_WITHOUT, RETRY_PART),
)
OF_TURN = frozenset(
    {Subject.WORK, Subject.TOOL, Subject.ELSEWHERE}
)  # asked for the agent: it gets the answer
SPENDING = frozenset({Subject.BUDGET, Subject.SHARED, Subject.TIME, Subject.TURNS, Subject.TOKENS})
# Words decide nothing here, and there is no agent that could act on them before somebody has chosen.
CHOSEN_ONLY = SPENDING | {Subject.START, Subject.STAGE_LOOPS, Subject.LEAVING, Subject.PART}
LIMITS = SPENDING | {Subject.REPAIRS, Subject.SIZE, Subject.GUARD, Subject.WORKFLOWS}
_AGREES = frozenset({Code.GO_ON, Code.PUBLISH, Code.TRY_AGAIN, Code.ALLOW_ONCE, Code.CREATE})
_REFUSES = frozenset({Code.STOP, Code.DENY})
# By these words the log names who asked, and what about before subjects were kept.
_SUBJECTS = {
    "agent": Subject.WORK,
    "permission": Subject.TOOL,
    "budget": Subject.BUDGET,
    "limit": Subject.SHARED,
    "rebase": Subject.REBASE,
    "workflows": Subject.WORKFLOWS,
    "guard": Subject.GUARD,
    "validation": Subject.REPAIRS,
    "stage": Subject.STAGE,
    "leave": Subject.LEAVING,
    "elsewhere": Subject.ELSEWHERE,
    "part": Subject.PART,
}
_WORDS = {subject: word for word, subject in _SUBJECTS.items()} | {
    Subject.TIME: "limit",
    Subject.TURNS: "limit",
    Subject.TOKENS: "limit",
    Subject.SIZE: "limit",
    Subject.START: "stage",
    Subject.STAGE_LOOPS: "stage",
}
# The choices of questions that were asked before choices had codes, by their subject and number.
_BEFORE: dict[tuple[Subject, int], tuple[Code, ...]] = {
    (Subject.TOOL, 3): (Code.ALLOW_ONCE, Code.ALLOW_CARD, Code.DENY),
    (Subject.BUDGET, 2): (Code.GO_ON, Code.STOP),
    (Subject.SHARED, 2): (Code.GO_ON, Code.STOP),
    (Subject.REBASE, 2): (Code.TRY_AGAIN, Code.STOP),
    (Subject.REBASE, 3): (Code.WITHOUT_REBASE, Code.TRY_AGAIN, Code.STOP),
    (Subject.WORKFLOWS, 2): (Code.PUBLISH, Code.STOP),
    (Subject.GUARD, 2): (Code.PUBLISH, Code.STOP),
    (Subject.REPAIRS, 2): (Code.GO_ON, Code.STOP),
    (Subject.STAGE, 2): (Code.GO_ON, Code.STOP),
    (Subject.STAGE, 3): (Code.GO_ON, Code.BACK, Code.STOP),
    (Subject.LEAVING, 2): (Code.CANCEL, Code.FINISH),
}


class LimitQuestion(Protocol):
    """A question as the log has it: `codes` are those of `choices`, in their order."""

    @property
    def asker(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def choices(self) -> Sequence[str]: ...
    @property
    def codes(self) -> Sequence[str]: ...


def asker_of(asked_by: str) -> QuestionSource:
    """Return who asked, by the word in the log; an unknown word is an agent's, which decides nothing."""
    subject = _SUBJECTS.get(asked_by, Subject.WORK)
    if subject is Subject.WORK:
        return QuestionSource.AGENT
    of_rules = subject in (Subject.LEAVING, Subject.PART)
    return QuestionSource.RULES if of_rules else QuestionSource.SUPERVISOR


def subject_of(question: LimitQuestion) -> Subject:
    """Return the question's subject; of an agent's question it is always the work."""
    if asker_of(question.asker) is QuestionSource.AGENT:
        return Subject.WORK
    return Subject(question.subject) if question.subject in set(Subject) else _SUBJECTS[question.asker]


def codes_of(question: LimitQuestion) -> tuple[Code, ...]:
    """Return the codes of the choices; none for an agent's."""
    if asker_of(question.asker) is QuestionSource.AGENT:
        return ()
    if not question.subject:
        return _BEFORE.get((subject_of(question), len(question.choices)), ())
    codes = tuple(Code(code) for code in question.codes if code in set(Code))
    return codes if len(codes) == len(question.choices) else ()


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a change, where that is over a limit; 0 where it is not."""

    files_changed: int = 0
    lines_changed: int = 0
    added_mb: int = 0


NOTHING = Size()


def question(
    run_id: RunId,
    question_id: QuestionId,
    subject: Subject,
    text: str,
    choices: Sequence[AnswerChoice],
    *,
    size: Size = NOTHING,
    digest: str = "",
    part: str = "",
) -> QuestionAsked:
    """Return a question of Cardinal's own. `size`, `digest` and `part` are as in QuestionAsked."""
    return QuestionAsked(
        run_id,
        question_id,
        _WORDS[subject],
        text,
        tuple(choice.label for choice in choices),
        subject,
        tuple(choice.code for choice in choices),
        *(size.files_changed, size.lines_changed, size.added_mb),
        digest,
        part,
    )


def of_rules(
    run_id: RunId, count: int, subject: Subject, text: str, choices: Sequence[AnswerChoice], *, part: str = ""
) -> QuestionAsked:
    """Return a question of the rules to a run that has `count` already; `part` is as in QuestionAsked."""
    # Not -q: the run's worker numbers its own questions, and may not know this one yet.
    return question(run_id, QuestionId(f"{run_id}-b{count + 1}"), subject, text, choices, part=part)


def of_agent(run_id: RunId, question_id: QuestionId, text: str, choices: tuple[str, ...]) -> QuestionAsked:
    """Return an agent's question: its answer reaches the agent, and decides nothing else."""
    return QuestionAsked(
        run_id=run_id,
        question_id=question_id,
        asker=_WORDS[Subject.WORK],
        text=text,
        choices=choices,
        subject=Subject.WORK,
    )


def answer_question(
    question: QuestionAsked | QuestionRow, *, by: str, text: str, code: str = ""
) -> QuestionAnswered:
    """Return the answer: `text` is for people, `code` its meaning; without one the words have it."""
    meant, asker = code_of(question, code, text), asker_of(question.asker)
    return QuestionAnswered(
        run_id=question.run_id,
        question_id=question.question_id,
        by=by,
        text=text,
        code=meant,
        asker=asker,
        subject=subject_of(question),
    )


def read(question: LimitQuestion, answer: str) -> ReplyChoice:
    """Return which choice a person means who wrote that: its number, its words, or a plain yes or no.

    An agent's choices mean nothing but their words; a yes is none of them.
    """
    codes = codes_of(question)
    yes = 0 if codes[:1] and codes[0] in _AGREES else None
    no = len(codes) - 1 if codes[-1:] and codes[-1] in _REFUSES else None
    return read_reply(question.choices, answer, yes=yes, no=no)


def code_of(question: LimitQuestion, code: str, answer: str) -> Code:
    """Return the answer's code: the log's where it fits the question, else the meaning of the words."""
    if not code:
        choice, codes = read(question, answer).choice, codes_of(question)
        return Code.WORDS if choice is None or not codes else codes[choice]
    of_money = code == Code.RAISED and subject_of(question) is Subject.BUDGET
    return Code(code) if of_money or code in codes_of(question) else Code.WORDS


def limit_extended_by(question: LimitQuestion, code: Code) -> Subject | None:
    """Return the limit that the run has as much again of by that answer; None where it has no more."""
    gives = subject_of(question) in SPENDING - {Subject.SHARED} | {Subject.REPAIRS}
    return subject_of(question) if gives and code is Code.GO_ON and code in codes_of(question) else None


def budget_answer(usd: float) -> str:
    """Return the answer that people read where the budget was raised."""
    return f"Raised the budget by ${usd:,.2f}"


def is_reserved(label: str) -> bool:
    """Whether an agent may not offer this as a choice, since people know it as Cardinal's own."""
    return _bare(label) in {_bare(choice.label) for choice in RESERVED}


def _bare(label: str) -> str:
    """Return the letters and digits of a label: the same for all that look like it at a glance."""
    shown = unicodedata.normalize("NFKC", label).casefold()
    return "".join(char for char in shown if char.isalnum())
