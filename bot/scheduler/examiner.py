"""Slow looks of the doctor: at each host every ten minutes, and at everything every half hour."""

from bot.admin.doctor import DoctorContext, checks_of_host, examine, routine_checks
from bot.admin.examination import Examiner, keep_results
from bot.bootstrap import Services
from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queue import leases

HOST_EVERY_S, ALL_EVERY_S = 600.0, 1800.0


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
            keep_results(
                services.engine, services.host, subject, Examiner.SCHEDULER, examine(context, chosen)
            )
