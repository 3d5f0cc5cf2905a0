"""The questions that runs asked, and what people answered."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, select

from ledger.event import Recorded
from ledger.events.run import QuestionAnswered, QuestionAsked, RunEnded
from ledger.fold import Fold
from ledger.ids import CardId, QuestionId, RunId
from ledger.rows import columns, keep, many, one, pick
from ledger.tables import VIEWS
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question; `answered_at` is None while it waits. `withdrawn`: its run ended without an answer."""

    question_id: QuestionId
    run_id: RunId
    card_id: CardId
    asker: str
    text: str
    choices: tuple[str, ...]
    asked_at: datetime
    answer: str
    answered_by: str
    answered_at: datetime | None
    withdrawn: bool


questions = Table(
    "view_questions", VIEWS, *columns(QuestionRow, "question_id"), Index("view_questions_run", "run_id")
)
fold = Fold()


def get(db: Connection, question_id: QuestionId) -> QuestionRow | None:
    """Return the question; None when it is unknown."""
    return one(db, QuestionRow, pick(QuestionRow, questions).where(questions.c.question_id == question_id))


def open_of_run(db: Connection, run_id: RunId) -> tuple[QuestionRow, ...]:
    """Return the run's questions that still wait for a person, the newest first."""
    waits = (questions.c.run_id == run_id) & questions.c.answered_at.is_(None) & ~questions.c.withdrawn
    order = (questions.c.asked_at.desc(), questions.c.question_id)
    return many(db, QuestionRow, pick(QuestionRow, questions).where(waits).order_by(*order))


def open_by(db: Connection, asker: str, run_ids: Iterable[RunId]) -> frozenset[RunId]:
    """Return those of the runs that wait for an answer to that asker."""
    waits = questions.c.answered_at.is_(None) & ~questions.c.withdrawn & (questions.c.asker == asker)
    query = select(questions.c.run_id).where(waits, questions.c.run_id.in_(tuple(run_ids)))
    return frozenset(RunId(run_id) for run_id in db.scalars(query))


def of_run(db: Connection, run_id: RunId) -> tuple[QuestionRow, ...]:
    """Return all questions of the run, the oldest first."""
    query = pick(QuestionRow, questions).where(questions.c.run_id == run_id)
    return many(db, QuestionRow, query.order_by(questions.c.asked_at, questions.c.question_id))


def answered(db: Connection, card_id: CardId, asker: str, *, limit: int) -> tuple[QuestionRow, ...]:
    """Return what that asker was answered in all runs of the card, the newest answers first."""
    mine = questions.c.run_id.in_(select(runs.c.run_id).where(runs.c.card_id == card_id))
    said = mine & (questions.c.asker == asker) & questions.c.answered_at.is_not(None)
    order = (questions.c.answered_at.desc(), questions.c.question_id)
    return many(db, QuestionRow, pick(QuestionRow, questions).where(said).order_by(*order).limit(limit))


@fold.on(QuestionAsked)
def _asked(db: Connection, it: Recorded, event: QuestionAsked) -> None:
    card_id = db.scalar(select(runs.c.card_id).where(runs.c.run_id == event.run_id))
    asked = {
        "run_id": event.run_id,
        "card_id": card_id or "",
        "asker": event.asker,
        "text": event.text,
        "choices": event.choices,
        "asked_at": it.at,
        "answer": "",
        "answered_by": "",
        "answered_at": None,
        "withdrawn": False,
    }
    keep(db, questions, {"question_id": event.question_id}, asked)


@fold.on(QuestionAnswered)
def _answered(db: Connection, it: Recorded, event: QuestionAnswered) -> None:
    mine = questions.c.question_id == event.question_id
    answer = {"answer": event.text, "answered_by": event.by, "answered_at": it.at}
    db.execute(questions.update().where(mine).values(**answer))


@fold.on(RunEnded)
def _ended(db: Connection, _it: Recorded, event: RunEnded) -> None:
    waits = (questions.c.run_id == event.run_id) & questions.c.answered_at.is_(None)
    db.execute(questions.update().where(waits).values(withdrawn=True))
