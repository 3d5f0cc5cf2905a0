"""Does anything stand still: deliveries that wait, acts that cannot be done, decisions that failed."""

from collections.abc import Iterator
from shlex import quote

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.outbox.handlers import can_repeat
from bot.state.hang_guard import way_on
from bot.state.standstill import REPLAY, way_out
from ledger.log import event_store
from ledger.queries.standstill import UNDONE_AFTER, StandstillKind
from ledger.queue import hangs, inbox, outbox, restored
from ledger.views import failures, remotes, stalls
from rules.text import brief, plain

MAX_LISTED = 5
BY_HAND = "do it by hand: an older version gave it up, and this one cannot repeat it"
STUCK_S = UNDONE_AFTER.total_seconds()


def waiting(context: DoctorContext) -> Iterator[CheckResult]:
    """Has anything been waiting too long in the inbox or the outbox?"""
    if context.engine is None:
        return
    with event_store.reading(context.engine) as db:
        inward = inbox.delivery_counts(db)
        stuck, held = outbox.count_stuck(db, context.now, STUCK_S)
        oldest = next(iter(outbox.stuck(db, context.now, STUCK_S, limit=1)), None)
        lost = remotes.list_given_up(db)
        adopts = restored.is_restored(db)
    if adopts:
        message = "the ledger was restored: nothing is done until Cardinal has read GitHub"
        yield warn(
            "restored",
            message,
            f"start `{context.program}`, which does that; if it does not, its log says why",
        )
    asleep = inbox.due_deliveries(context.engine, late_s=STUCK_S, limit=100)
    if inward["quarantined"]:
        yield fail("inbox", f"{inward['quarantined']} deliveries are quarantined", REPLAY)
    elif asleep:
        message = f"{len(asleep)} deliveries have been waiting for over {brief(UNDONE_AFTER)}"
        yield warn("inbox", message, f"check the workers' log, and that `{context.program}` is running")
    else:
        kept = f"{inward['done']}{' or more' * (inward['done'] >= inbox.MAX_COUNTED)}"
        yield ok("inbox", f"{inward['waiting']} deliveries waiting, {kept} done and kept")
    if held:
        message = f"{held} acts waiting: {outbox.SHUT_OUT}"
        yield warn("outbox", message, way_out(StandstillKind.SHUT_OUT, context.config.home))
    late = stuck - held
    if late:
        message = f"{late} entries have been waiting for over {brief(UNDONE_AFTER)}"
        if oldest is not None and oldest.error:
            message += f", the oldest, {oldest.act}: {plain(oldest.error, 300)}"
        yield warn("outbox", message, way_out(StandstillKind.UNDONE, context.config.home))
    else:
        yield ok("outbox", "no outbox entry is overdue")
    for act in lost[-MAX_LISTED:]:
        replay = f"fix what it names, then run `cardinal replay --acts {quote(plain(act.key, 300))}`"
        message = f"{act.act} was given up: {plain(act.because, 300)}"
        yield warn("outbox", message, replay if can_repeat(act) else BY_HAND)
    if len(lost) > MAX_LISTED:
        message = f"{len(lost)} acts were given up in total"
        yield warn("outbox", message, "`cardinal replay --acts` lists them")


def starts(context: DoctorContext) -> Iterator[CheckResult]:
    """Is there a worker for the runs that may start?"""
    counts = context.read(stalls.counts, None)
    if counts is None:
        return
    if counts:
        message = f"{sum(counts.values())} ready runs have no worker"
        yield fail("starts", message, way_out(StandstillKind.NO_WORKER, context.config.home))
    else:
        yield ok("starts", "every ready run has a worker")


def hung(context: DoctorContext) -> Iterator[CheckResult]:
    """Has anything hung its worker so often that it is set aside?"""
    known_hangs: tuple[hangs.Hang, ...] = ()
    aside = [hang for hang in context.read(hangs.all_hangs, known_hangs) if hang.set_aside]
    for hang in aside:
        yield fail("hangs", f"{hang.name} hung its worker {hang.times} times", way_on(hang.name, hang.times))
    if not aside:
        yield ok("hangs", "nothing is set aside for hanging its worker")


def decisions(context: DoctorContext) -> Iterator[CheckResult]:
    """Did the rules fail on an event?"""
    if context.engine is None:
        return
    with event_store.reading(context.engine) as db:
        count, newest = failures.count_failures(db), failures.newest(db, 1)
    if not newest:
        yield ok("decisions", "no event was skipped")
        return
    last = newest[0]
    message = f"{count} events were skipped, the last: {last.of} (event {last.failed}): {last.because}"
    yield fail("decisions", message, way_out(StandstillKind.UNDECIDED, context.config.home))


ORDER = 6
CHECKS = (waiting, starts, hung, decisions)
