"""Examinations: the newest results of each host; they replace the ones before."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection

from ledger.db.clock import database_now
from ledger.db.rows import drop, keep, list_rows
from ledger.db.tables import ExaminationSubject, examinations

MAX_RESULTS, MAX_CHARS = 200, 1_000  # of one examination; of each text


class Level(StrEnum):
    """How bad a result is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class KeptResult(NamedTuple):
    """A result as the examiner names, grades and words it; `next_step` is empty where nothing is to do."""

    name: str
    level: str
    message: str
    next_step: str


@dataclass(frozen=True, slots=True)
class ExaminationRow:
    """Results of `examiner` at `at`; `findings` as JSON."""

    host: str
    subject: ExaminationSubject
    examiner: str
    at: datetime
    findings: str

    def read(self) -> tuple[KeptResult, ...]:
        return tuple(KeptResult(*fields) for fields in json.loads(self.findings))


def record_examination(
    db: Connection, host: str, subject: ExaminationSubject, examiner: str, results: Iterable[KeptResult]
) -> None:
    """Keep the results; too many and too long ones are cut."""
    cut = [[text[:MAX_CHARS] for text in result] for result in results][:MAX_RESULTS]
    values = {"examiner": examiner, "at": database_now(db), "findings": json.dumps(cut)}
    keep(db, examinations, {"host": host, "subject": subject}, values)


def all_hosts(db: Connection, subject: ExaminationSubject) -> tuple[ExaminationRow, ...]:
    return list_rows(db, ExaminationRow, examinations, "host", subject=subject)


def drop_older(db: Connection, before: datetime) -> None:
    """Drop the results from before then: nobody examines that host any more."""
    db.execute(examinations.delete().where(examinations.c.at < before))


def forget_host(db: Connection, host: str) -> None:
    drop(db, examinations, host=host)
