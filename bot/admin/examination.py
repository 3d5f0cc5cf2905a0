"""Examination: the doctor's results, kept in the ledger for the page Health."""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import Engine

from bot.admin.doctor import CheckResult
from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queue import examinations
from ledger.queue.examinations import KeptResult


class Examiner(StrEnum):
    """Who looked, as people read it."""

    SCHEDULER = "the scheduler"
    DOCTOR = "cardinal doctor"


def keep_results(
    engine: Engine, host: str, subject: ExaminationSubject, examiner: Examiner, results: Iterable[CheckResult]
) -> None:
    """Keep the results in the place of earlier ones about the same; those of hosts as such."""
    of_host = subject is ExaminationSubject.HOST
    kept = [
        KeptResult(it.name, it.level, it.message, it.next_step) for it in results if it.of_host is of_host
    ]
    with event_store.writing(engine) as db:
        examinations.record_examination(db, host, subject, examiner, kept)
