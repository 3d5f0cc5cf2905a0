"""Does anything stand still: deliveries that wait, acts that cannot be done, decisions that failed."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from ledger.log import event_store
from ledger.queue import inbox, outbox
from ledger.views import failures, remotes, stalls

STUCK_S = 300


def waiting(patient: DoctorContext) -> Iterator[CheckResult]:
    """Does anything wait too long in the inbox or the outbox?"""
    if patient.engine is None:
        return
    with event_store.reading(patient.engine) as db:
        inward = inbox.counts(db)
        waits = outbox.stuck(db, patient.now, STUCK_S)
        lost = remotes.given_up(db)
    asleep = inbox.due(patient.engine, late_s=STUCK_S, limit=100)
    if inward["quarantined"]:
        yield fail(
            "inbox", f"{inward['quarantined']} deliveries are quarantined", "`cardinal replay` lists them"
        )
    elif asleep:
        message = f"{len(asleep)} deliveries wait for over {STUCK_S // 60} min"
        yield warn("inbox", message, "look at the workers' log, and whether `cardinal up` runs")
    else:
        kept = f"{inward['done']}{' or more' * (inward['done'] >= inbox.MAX_COUNTED)}"
        yield ok("inbox", f"{inward['waiting']} deliveries wait, {kept} are done and kept")
    held = sum(entry.error == outbox.SHUT_OUT for entry in waits)
    if held:
        step = "add the board again, or have its owner let the App in: they are done then"
        yield warn("outbox", f"{held} acts wait: {outbox.SHUT_OUT}", step)
    late = len(waits) - held
    if late:
        yield warn("outbox", f"{late} entries wait for over {STUCK_S // 60} min", "look at the workers' log")
    else:
        yield ok("outbox", "no entry of the outbox waits too long")
    if lost:
        newest = lost[-1]
        yield warn("outbox", f"{len(lost)} acts were given up, the last: {newest.because}", "do it by hand")


def starts(patient: DoctorContext) -> Iterator[CheckResult]:
    """Is there a worker for the runs that may start?"""
    if patient.engine is None:
        return
    with event_store.reading(patient.engine) as db:
        stalled = sum(stalls.counts(db).values())
    if stalled:
        message = f"{stalled} ready runs are taken by no worker"
        yield fail("starts", message, "start `cardinal up` (or `cardinal work`); its log says why one died")
    else:
        yield ok("starts", "what may start is taken")


def decisions(patient: DoctorContext) -> Iterator[CheckResult]:
    """Did the rules fail on an event?"""
    if patient.engine is None:
        return
    with event_store.reading(patient.engine) as db:
        count, newest = failures.count(db), failures.newest(db, 1)
    if not newest:
        yield ok("decisions", "every event was decided")
        return
    last = newest[0]
    message = f"{count} events were passed by, the last: {last.of} (event {last.failed}): {last.because}"
    yield fail("decisions", message, "report it with the log; /cardinal retry or a drag goes on")


ORDER = 6
CHECKS = (waiting, starts, decisions)
