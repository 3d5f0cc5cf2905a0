"""The questions of runs, and people's answers."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Index, Select, Table, select

from ledger.db.rows import change, columns, find, list_rows, record, value, values
from ledger.db.statements import statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.run import QuestionAnswered, QuestionAsked, RunEnded
from ledger.fold import Fold
from ledger.ids import CardId, QuestionId, RunId
from ledger.rows import limit_answers
from ledger.rows.limit_answers import Code, Subject
from ledger.rows.questions import QuestionRow
from ledger.views.runs import runs

questions = Table(
    "view_questions",
    VIEWS,
    *columns(QuestionRow, "question_id"),
    Index("view_questions_run", "run_id"),
    Index("view_questions_part", "part"),
)
fold = Fold()


def get(db: Connection, question_id: QuestionId) -> QuestionRow | None:
    return find(db, QuestionRow, questions, question_id=question_id)


def open_of_run(db: Connection, run_id: RunId) -> tuple[QuestionRow, ...]:
    """Return the run's questions that still wait for a person, the newest first."""
    order = ("-asked_at", "question_id")
    return list_rows(db, QuestionRow, questions, *order, run_id=run_id, answered_at=None, withdrawn=False)


def open_by(db: Connection, asker: str, run_ids: Collection[RunId]) -> frozenset[RunId]:
    """Return those of the runs that wait for an answer to that asker."""
    mine: dict[str, Any] = {"asker": asker, "answered_at": None, "withdrawn": False, "run_id": tuple(run_ids)}
    return frozenset(values(db, questions.c.run_id, **mine))


def of_run(db: Connection, run_id: RunId) -> tuple[QuestionRow, ...]:
    return list_rows(db, QuestionRow, questions, "asked_at", "question_id", run_id=run_id)


def has_agreed(db: Connection, card_id: CardId, subject: Subject, code: Code) -> bool:
    """Tell whether a question about that was answered so in any run of the card."""
    wanted = {"card_id": card_id, "subject": subject, "code": code}
    return _select_agreed.scalar(db, wanted) is not None


@statement
def _select_agreed(card_id: Any, subject: Any, code: Any) -> Select[Any]:
    mine = questions.c.run_id.in_(select(runs.c.run_id).where(runs.c.card_id == card_id))
    same = mine & (questions.c.subject == subject) & (questions.c.code == code)
    return select(questions.c.question_id).where(same).limit(1)


@fold.on(QuestionAsked)
def _fold_question_asked(db: Connection, recorded: Recorded, event: QuestionAsked) -> None:
    card_id = value(db, runs.c.card_id, run_id=event.run_id)
    meaning = {"subject": limit_answers.subject_of(event), "codes": limit_answers.codes_of(event)}
    record(db, questions, recorded, card_id=card_id or "", asked_at=recorded.at, **meaning)


@fold.on(QuestionAnswered)
def _fold_question_answered(db: Connection, recorded: Recorded, event: QuestionAnswered) -> None:
    question = get(db, event.question_id)
    if question is None or question.answered_at is not None:
        return
    code = limit_answers.code_of(question, event.code, event.text)
    answer = {"answer": event.text, "code": code, "answered_by": event.by, "answered_at": recorded.at}
    change(db, questions, {"question_id": event.question_id}, **answer)


@fold.on(RunEnded)
def _fold_run_ended(db: Connection, _recorded: Recorded, event: RunEnded) -> None:
    change(db, questions, {"run_id": event.run_id, "answered_at": None}, withdrawn=True)
