"""Ticker: finds everything in the ledger that is due, and wakes whoever does it.

Queues carry only wake-ups, so a tick also finds work that a crash or a wiped Redis lost.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from redis import Redis
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from bot.bootstrap import Services
from bot.outbox import handlers, notices
from bot.reactor import reactor, scheduled_cards
from bot.reactor.scheduled_cards import Due
from bot.render.board.card_fields import MAX_PLACE
from bot.scheduler import alarms, dispatch, queues, wakeups
from bot.state import policies, served_boards
from bot.sync import checks, column_order
from bot.system import liveness, release
from bot.system.liveness import LeaseGrace, OutageMemory
from ledger.db.clock import database_now
from ledger.db.silence import SILENCE_S
from ledger.db.transactions import apart
from ledger.errors import CardinalError, OutdatedError
from ledger.events.board import BoardProbed
from ledger.events.schedule import ScheduleSet
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queries import run_queue
from ledger.queue import hosts, inbox, refresh_requests
from ledger.views import boards, halts, schedules
from rules.intents.outbound import UpdateFace
from rules.policy.schedule import CardSchedule, next_after

POLL_S = 10  # a tick in that many seconds looks
log = logging.getLogger(__name__)
MAX_AT_ONCE = 100
TIDY_EVERY = timedelta(minutes=1)
BEAT_CHECK_S = 1.0  # how often a process that only sends heartbeats looks whether one is due
QUIET_S = (
    15  # after so long without an event it ticks half as often: whatever happens wakes its worker itself
)
EAGER_S, PATIENT_S = 5, 10  # a refresh request is served at every tick at first, later in every tenth second
Step = Callable[[Services], None]
_beats: WeakKeyDictionary[Engine, float] = WeakKeyDictionary()  # when the last heartbeat was recorded
_places: WeakKeyDictionary[Engine, dict[CardId, int]] = WeakKeyDictionary()  # that faces show, or soon will
_outages: WeakKeyDictionary[Engine, OutageMemory] = WeakKeyDictionary()
_graces: WeakKeyDictionary[Engine, LeaseGrace] = WeakKeyDictionary()  # of each ledger's leases, between ticks


def make_due_cards(services: Services) -> None:
    """Request the cards that are due; not at every tick."""
    if not int(time.monotonic()) % POLL_S:
        request_due(services)


def request_due(services: Services) -> None:
    """Request the cards that are due. The transaction that finds one due records it: no other host does."""
    with event_store.reading(services.engine) as db:
        late = any(_is_late(services, db, *each) for each in _all(services, db))
        if not late and not _forget_removed(services, db):
            return
    with event_store.writing(services.engine) as db:
        event_store.append(db, *_forget_removed(services, db), at=services.now())
        for board_id, name, schedule in _all(services, db):
            _advance(services, db, board_id, name, schedule)


def _all(services: Services, db: Connection) -> list[tuple[BoardId, str, CardSchedule]]:
    boards = [board.board_id for board in served_boards.all_served(db, services.config) if board.board_id]
    every = ((board_id, policies.in_force(db, board_id).board.schedule) for board_id in boards)
    return [(board_id, name, it) for board_id, named in every for name, it in named.items() if it.on is None]


def _forget_removed(services: Services, db: Connection) -> list[ScheduleSet]:
    """Return the events that forget schedules which the policy has no more: none is made up for later."""
    kept = {(board_id, name) for board_id, name, _ in _all(services, db)}
    boards = [board.board_id for board in served_boards.all_served(db, services.config)]
    board_ids = [board_id for board_id in boards if board_id and policies.is_known(db, board_id)]
    rows = [row for board_id in board_ids for row in schedules.of_board(db, board_id)]
    gone = [row for row in rows if (row.board_id, row.schedule) not in kept]
    return [ScheduleSet(row.board_id, row.schedule, "", services.now()) for row in gone]


def _is_late(
    services: Services, db: Connection, board_id: BoardId, name: str, schedule: CardSchedule
) -> bool:
    row = schedules.get(db, board_id, name)
    return row is None or row.timing != schedule.timing or row.next_at <= services.now()


def _advance(
    services: Services, db: Connection, board_id: BoardId, name: str, schedule: CardSchedule
) -> None:
    now, row = services.now(), schedules.get(db, board_id, name)
    if row is None or row.timing != schedule.timing:
        first = next_after(schedule, now, now)
        event_store.append(db, ScheduleSet(board_id, name, schedule.timing, first), at=now)
        return
    if row.next_at > now:
        return
    next_at = next_after(schedule, row.next_at, now)
    scheduled_cards.request_scheduled_card(db, board_id, name, schedule, Due(row.next_at, next_at), now=now)


def run_forever(services: Services, stop: threading.Event, *, beats: bool = True) -> None:
    """Tick until `stop` is set; an error of one tick is logged and the next one goes on.

    `beats`: this tick sends the host's heartbeats, too.
    """
    steps = STEPS if beats else tuple(step for step in STEPS if step is not heartbeat)
    every = timedelta(seconds=services.config.sweep_s)
    swept = services.now() - every
    tidied = services.now() - TIDY_EVERY
    searches = False
    last, quiet_since = -1, time.monotonic()
    while not stop.is_set():
        try:
            if not searches:
                search_lost_deliveries(services)
                searches = True
            if services.now() - swept >= every:
                request_sweeps(services)
                swept = services.now()
            if services.now() - tidied >= TIDY_EVERY:
                request_upkeep(services.engine, services.redis, services.host)
                alarms.watch_disk(services)
                tidied = services.now()
            tick(services, steps)
            with event_store.reading(services.engine) as db:
                before, last = last, event_store.last_seq(db)
            quiet_since = quiet_since if last == before else time.monotonic()
        except OutdatedError:
            raise  # this process has no work any more
        except (CardinalError, OperationalError) as error:  # the latter: somebody holds the ledger's lock
            log.warning("tick failed error=%s", error)
        stop.wait(pause_s(services.config.tick_s, time.monotonic() - quiet_since))


def pause_s(tick_s: float, quiet_s: float) -> float:
    """Return the seconds until the next tick, when for `quiet_s` no event came: each event wakes its worker
    itself, and is for the next tick only when that was lost.
    """
    return tick_s * (2 if quiet_s > QUIET_S else 1)


def search_lost_deliveries(services: Services) -> None:
    """Have the next sweeps find deliveries that the ledger lost."""
    with event_store.writing(services.engine) as db:
        inbox.begin_search(db, database_now(db))


def request_sweeps(services: Services) -> None:
    """Wake the sweep of every board, the search for failed deliveries and the sending of traces; people's
    acts go first.
    """
    queues.request(services.redis, "recover_deliveries", name=queues.ECHOES)
    if services.config.traces_url:
        queues.request(services.redis, "export_traces", name=queues.ECHOES)
    paused = wakeups.pauses(services)
    for each in services.on_every_board():
        if each.board.board_id not in paused:
            queues.request(
                services.redis, "sweep_board", each.board.owner, str(each.board.number), name=queues.ECHOES
            )


def request_upkeep(engine: Engine, redis: Redis, here: str) -> None:
    """Wake the clean-up and the doctor on this host and on every other that lives: each sees its own."""
    with event_store.reading(engine) as db:
        known_hosts = hosts.list_hosts(db)
    for host in {here, *(row.name for row in known_hosts.rows if known_hosts.is_alive(row))}:
        for job in ("tidy", "examine"):
            queues.request(redis, job, host, name=queues.tidy_queue(host))


def beat_forever(services: Services, stop: threading.Event) -> None:
    """Send heartbeats alone until `stop` is set; an error of one is logged and the next one goes on."""
    while not stop.is_set():
        try:
            heartbeat(services)
        except OperationalError as error:  # somebody holds the ledger's lock, or the database is away
            log.warning("heartbeat failed error=%s", error)
        stop.wait(BEAT_CHECK_S)


def heartbeat(services: Services) -> None:
    """Record every few seconds that this host lives; all that it offers is recorded with it."""
    at, config = time.monotonic(), services.config
    if at - _beats.get(services.engine, float("-inf")) < hosts.BEAT_S:
        return
    with apart(services.engine) as db:  # or a long turn of others would make a dead host of this
        hosts.beat(
            db, services.host, slots=config.run_workers, labels=config.labels, version=release.version()
        )
    _beats[services.engine] = at


def expire_dead_holders(services: Services) -> None:
    """Let the claims of dead processes run out."""
    with _outage(services.engine).watch():
        liveness.expire_dead_holders(services.engine)


def _outage(engine: Engine) -> OutageMemory:
    return _outages.setdefault(engine, OutageMemory(time.monotonic, SILENCE_S))


def reap(services: Services) -> None:
    """Take back the runs whose worker is gone."""
    lease_s = services.config.lease_s
    grace = _graces.setdefault(services.engine, LeaseGrace(time.monotonic, lease_s / 2))
    # A lease that was renewed just before an outage runs out up to its length after that, and has its grace.
    outage = _outage(services.engine).within(2 * lease_s)
    if dispatch.reap_runs(services.engine, now=services.now(), sure=grace.sure, outage=outage):
        request_upkeep(services.engine, services.redis, services.host)  # a dead worker's containers live on


def ingest(services: Services) -> None:
    for delivery_id in inbox.due_deliveries(services.engine, limit=MAX_AT_ONCE):
        queues.request(services.redis, "ingest", delivery_id)


def sync_cards(services: Services) -> None:
    """Wake the sync of cards with a refresh request; one that failed for long is tried less often."""
    paused = wakeups.pauses(services)
    with event_store.reading(services.engine) as db:
        waiting, now = refresh_requests.list_requested_cards(db, MAX_AT_ONCE, but=paused), database_now(db)
    for request in waiting:
        waited_s = (now - request.requested_at).total_seconds()
        if waited_s > EAGER_S and int(waited_s) % PATIENT_S:
            continue  # GitHub is away: a look every half second would only spend the budget
        queues.request(services.redis, "sync_card", request.card_id)


def rank_columns(services: Services) -> None:
    paused = wakeups.pauses(services)
    with event_store.reading(services.engine) as db:
        due = column_order.is_due(db, paused)
    if due:
        queues.request(services.redis, "rank_columns")


def probe(services: Services) -> None:
    """Let a run try on each halted board whose wait is over."""
    probe_boards(services.engine, services.now())


def probe_boards(engine: Engine, now: datetime) -> tuple[BoardId, ...]:
    """Record for each halted board whose wait is over that one run may try; return those boards."""
    with event_store.reading(engine) as db:
        if not halts.due_halts(db, now):
            return ()
    with event_store.writing(engine) as db:
        due = halts.due_halts(db, now)
        for halt in due:
            event_store.append(db, BoardProbed(halt.board_id, halt.cause), at=now)
        reactor.advance(db, now=now)
    return tuple(halt.board_id for halt in due)


def late_checks(services: Services) -> None:
    """Wake the look at checks that no delivery told of, or that take too long; not at every tick."""
    if int(time.monotonic()) % PATIENT_S:
        return
    for card_id in checks.overdue(services, services.now(), wakeups.pauses(services)):
        queues.request(services.redis, "late_checks", card_id)


def show_places(services: Services) -> None:
    """Show places in queues on faces; not at every tick."""
    if not int(time.monotonic()) % PATIENT_S:
        write_places(services)


def write_places(services: Services) -> None:
    """Have the faces of the cards that go next written again where their places changed."""
    known = _places.setdefault(services.engine, {})
    with event_store.reading(services.engine) as db:
        gone = boards.list_removed(db)
        lines = [line for line in run_queue.columns_waiting(db) if line[0] not in gone]
        heads = [run_queue.free(db, *line, limit=MAX_PLACE) for line in lines]
    places = {row.card_id: position for head in heads for position, row in enumerate(head)}
    moved = [card_id for card_id, position in places.items() if known.get(card_id) != position]
    if moved:
        with event_store.writing(services.engine) as db:
            for card_id in moved:
                handlers.put_intent(db, UpdateFace(card_id), services.now())
    _places[services.engine] = places


STEPS: tuple[Step, ...] = (
    heartbeat,
    wakeups.report_pauses,
    expire_dead_holders,
    reap,
    ingest,
    sync_cards,
    rank_columns,
    probe,
    late_checks,
    make_due_cards,
    show_places,
    notices.request_new,
    wakeups.react_and_wake,
    alarms.watch_starts,
)


def tick(services: Services, steps: Sequence[Step] = STEPS) -> None:
    """Wake everything that is due once.

    A step that fails does not stop the others: errors are logged, and the first is raised at the end.
    """
    failed: list[Exception] = []
    for step in steps:
        try:
            step(services)
        except Exception as error:  # raised below, after the other steps
            log.warning("tick step failed step=%s error=%s", step.__name__, error)
            failed.append(error)
    if failed:
        raise failed[0]
