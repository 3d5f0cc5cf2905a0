"""Examination: the doctor's results, kept in the ledger for the page Health; the scheduler's job for it."""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import Engine

from bot.admin.doctor import CheckResult, DoctorContext, checks_of_host, routine_checks
from bot.admin.doctor import examine as examine_host
from bot.bootstrap import Services, current
from bot.state.hang_guard import guard_hangs
from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queue import examinations, leases
from ledger.queue.examinations import KeptResult

HOST_EVERY_S, ALL_EVERY_S = 600.0, 1800.0


class Examiner(StrEnum):
    """Who looked, as people read it."""

    SCHEDULER = "the scheduler"
    DOCTOR = "cardinal doctor"


def keep_results(
    engine: Engine, host: str, subject: ExaminationSubject, examiner: Examiner, results: Iterable[CheckResult]
) -> None:
    """Keep the results in the place of earlier ones about the same; those of hosts as such."""
    of_host = subject is ExaminationSubject.HOST
    kept_results = [
        KeptResult(it.name, it.level, it.message, it.next_step) for it in results if it.of_host is of_host
    ]
    with event_store.writing(engine) as db:
        examinations.record_examination(db, host, subject, examiner, kept_results)


def examine(_host: str) -> None:
    """Keep the doctor's results about this host, and from time to time those about the installation."""
    services = current()
    with guard_hangs(services.engine, f"job:examine {services.host}"):
        examine_due(services)


def examine_due(services: Services) -> None:
    """Keep the results about this host and those about the installation, where either is due."""
    context = DoctorContext(services.config, services.engine, services.context.app, services.now())
    of_all = routine_checks() if context.boards() else ()  # before the first sweep nearly all is missing
    for subject, name, every_s, chosen in (
        (ExaminationSubject.HOST, f"examination:{services.host}", HOST_EVERY_S, checks_of_host()),
        (ExaminationSubject.INSTALLATION, "examination", ALL_EVERY_S, of_all),
    ):
        with event_store.writing(services.engine) as db:
            due = bool(chosen) and leases.due(db, name, every_s=every_s)
        if due:
            results = examine_host(context, chosen)
            keep_results(services.engine, services.host, subject, Examiner.SCHEDULER, results)
