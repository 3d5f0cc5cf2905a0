"""Jobs of the queues, by id: each reads the ledger and may run any number of times."""

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from ctypes import c_longlong
from functools import partial
from mmap import mmap

from sqlalchemy.exc import OperationalError

from bot.bootstrap import Services, current
from bot.github.errors import GithubError
from bot.ingest import delivery
from bot.ingest.delivery import OUTAGES, DeliveryError
from bot.outbox import publisher
from bot.runspec import retry
from bot.runspec.host_paths import make_host_paths
from bot.runspec.operator_grants import tool_secrets
from bot.runspec.policy_fields import workspace
from bot.scheduler import cleanup, dispatch, wakeups
from bot.scheduler.queues import MAX_TOGETHER
from bot.scheduler.wakeups import react_and_wake, wake
from bot.state.hang_guard import guard_hangs
from bot.sync import card as card_sync
from bot.sync import checks, column_order, sweep
from bot.system import model_keys
from bot.system.clock import RunnerClock
from bot.system.config import ConfigError
from bot.system.current_work import working_on
from bot.traces import export
from ledger.errors import CardinalError
from ledger.ids import BoardId, CardId, DeliveryId, RunId
from ledger.log import event_store
from ledger.queue.leases import Lease
from ledger.views import runs
from rules.errors import RulesError
from runner import supervisor, workspaces
from runner.errors import KilledError, RunnerError
from runner.exec.deadline import SILENT_S, Deadline, Silence
from runner.exec.watchdog import Steps, Watchdog, start_watchdog
from runner.run.heartbeat import beating
from runner.run.log import RunLog

log = logging.getLogger(__name__)

PUBLISH_S = 20  # one publishing job hands over to the next after this long, so that workers can be stopped
DECIDE_S = 120.0  # that a decision over the board may take, before a run is claimed and after it


def ingest(*delivery_ids: str) -> None:
    """Turn stored deliveries into events and let the rules answer."""
    requested, failed = ingest_together(current(), tuple(map(DeliveryId, delivery_ids)))
    if requested is not None:
        sync_card(*requested)
    if failed:
        raise failed[0]


def ingest_together(
    services: Services, ids: tuple[DeliveryId, ...]
) -> tuple[tuple[CardId, ...] | None, tuple[DeliveryError, ...]]:
    """Ingest deliveries; return the cards to sync, None where nothing is new, and the errors."""
    failed: list[DeliveryError] = []
    try:
        requested, left = delivery.ingest_light(services, ids)
    except Exception as error:  # the top of a job: each is claimed below, so that its attempts are counted
        log.warning("deliveries not ingested together count=%s error=%s", len(ids), error, exc_info=True)
        requested, left = (), dict.fromkeys(ids)
    for delivery_id, content in left.items():
        try:
            requested += delivery.ingest(services, delivery_id, content)
        except DeliveryError as error:  # raised above, after the other deliveries
            failed.append(error)
    return requested if requested or left else None, tuple(failed)


def sync_card(*card_ids: str) -> None:
    """Sync cards with GitHub, those of a board by one read; those of a board that may not call it wait."""
    services = current()
    ids, paused = tuple(map(CardId, card_ids)), wakeups.pauses(services)
    for first in range(0, len(ids), MAX_TOGETHER):
        sync_together(services, ids[first : first + MAX_TOGETHER], paused)
    wake(services)


def sync_together(services: Services, card_ids: tuple[CardId, ...], paused: Collection[BoardId] = ()) -> None:
    """Sync the cards; when that fails each by itself, and the first error is raised at the end."""
    failed: list[Exception] = []
    try:
        card_sync.sync_cards(services, card_ids, paused)
    except Exception as error:  # the top of a job: what is wrong with one card must not hold up the others
        if len(card_ids) == 1 or isinstance(error, OUTAGES):
            raise
        log.warning("cards not synced together count=%s error=%s", len(card_ids), error, exc_info=True)
        for card_id in card_ids:
            try:
                card_sync.sync_cards(services, (card_id,), paused)
            except Exception as alone:  # raised below, after the other cards
                failed.append(alone)
    if failed:
        raise failed[0]


def rank_columns() -> None:
    services = current()
    with guard_hangs(services.engine, "job:rank_columns"):
        column_order.read_due(services, wakeups.pauses(services))
    wake(services)


def late_checks(card_id: str) -> None:
    """Look at the checks of a card's pull request that no delivery told of."""
    services = current()
    with guard_hangs(services.engine, f"job:late_checks {card_id}"):
        checks.read_again(services, CardId(card_id))
    wake(services)


def publish(lane: str) -> None:
    """Carry out the due entries in a lane of the outbox."""
    services = current()
    counts = publisher.publish_due(services.context, lane, within_s=PUBLISH_S)
    if counts.settled or counts.given_up:
        react_and_wake(services)


def sweep_board(owner: str, number: str) -> None:
    services = current()
    for each in services.on_every_board():
        if each.board.is_at(owner, int(number)):
            with guard_hangs(services.engine, f"job:sweep_board {owner}/{number}"):
                card_ids = sweep.sweep(each)
            sync_card(*card_ids)
    wake(services)


def recover_deliveries() -> None:
    """Have GitHub send failed deliveries again."""
    with guard_hangs(current().engine, "job:recover_deliveries"):
        sweep.recover_deliveries(current())


def export_traces() -> None:
    """Send the traces of what ended."""
    with guard_hangs(current().engine, "job:export_traces"):
        export.export_due(current())


def tidy(_host: str) -> None:
    """Remove left-overs of dead claims and finished cards on this host, which its queue is of."""
    services = current()
    with suppress(cleanup.TidyingError), guard_hangs(services.engine, f"job:tidy {services.host}"):
        cleanup.clean_up(services)


def execute(run_id: str) -> None:
    """Claim one run in this process, and carry it to its ending or to a park."""
    carry_out(current(), RunId(run_id), process_of_its_own=True)


def carry_out(services: Services, run_id: RunId, *, process_of_its_own: bool = False) -> None:
    """Claim one run for these services, and carry it to its ending or to a park.

    A process of its own is watched from here on: it is killed with all of the run once it hangs, or when the
    lease cannot be renewed.
    """
    if not process_of_its_own:
        _carry_out(services, run_id)
        return
    with event_store.reading(services.engine) as db:
        run = runs.get(db, run_id)
    generation = c_longlong.from_buffer(mmap(-1, 8))  # of the newest claim: the watchdog has to know
    generation.value = run.generation if run else 0
    with _watch(services, run_id, generation) as watchdog:
        _carry_out(services, run_id, watchdog, generation)


def _carry_out(
    services: Services,
    run_id: RunId,
    watchdog: Watchdog | None = None,
    generation: c_longlong | None = None,
) -> None:
    if watchdog is not None:
        watchdog.silence.allow(DECIDE_S)
    lease = _claim(services, run_id)
    if lease is None:
        log.info("run not claimed run=%s reason=not_ready", run_id)
        return
    if generation is not None:
        generation.value = lease.generation
    wake(services)
    failure: CardinalError | None = None
    try:
        with working_on(f"run:{run_id}"):
            _work(services, run_id, lease, watchdog)
    except (GithubError, RulesError, KilledError, ConfigError) as error:
        log.warning("run given back run=%s reason=%s", run_id, error)
        failure = error
    finally:
        if watchdog is not None:  # nothing of the run is at work any more
            watchdog.deadline.lift()
            watchdog.silence.allow(DECIDE_S)
        dispatch.let_go(services.engine, run_id, lease, now=services.now(), error=failure)
        react_and_wake(services)


def _work(services: Services, run_id: RunId, lease: Lease, watchdog: Watchdog | None) -> None:
    """Do the work of a claimed run, with a heartbeat where it is watched."""
    with event_store.reading(services.engine) as db:
        run = runs.get(db, run_id)
    services = services.on_board(run.board_id) if run else services
    ttl_s = retry.lease_s(services, run.reclaims if run else 0)
    clock = RunnerClock(services.clock)  # budgets of a day and retention go by the times of these events
    beats = (
        beating(services.engine, lease, watchdog.deadline, ttl_s, watchdog.silence)
        if watchdog
        else nullcontext()
    )
    with beats as heartbeat:
        run_log = RunLog(
            services.engine,
            run_id,
            lease,
            clock,
            ttl_s=ttl_s,
            on_append=partial(react_and_wake, services),
            watchdog=watchdog,
            heartbeat=heartbeat,
        )
        spec, remote = retry.make_spec(services, run_id, lease, run_log)
        supervisor.execute_run(
            spec,
            run_log,
            remote,
            clock,
            allow_unsandboxed=services.config.allow_unsandboxed,
            providers=model_keys.providers(services.config, services.board.owner),
            tool_secrets=tool_secrets(services.config, spec.repository, spec.repository_id),
        )


def _claim(services: Services, run_id: RunId) -> Lease | None:
    return dispatch.claim_run(
        services.engine,
        run_id,
        worker=services.name,
        now=services.now(),
        ttl_s=retry.claim_s(services),
        slots=services.config.run_workers,
        host=services.host,
        paused=wakeups.pauses(services, wakeups.LONG),
    )


def _watch(services: Services, run_id: RunId, generation: c_longlong) -> AbstractContextManager[Watchdog]:
    backend, paths = workspaces.load(workspace(services.config)), make_host_paths(services.config)

    def end_containers() -> None:
        backend.end_claim(paths, run_id, generation.value)

    def record_hang(silent_s: float) -> None:
        try:
            dispatch.record_hang(services.engine, run_id, generation.value, silent_s, now=services.now())
        except OperationalError as error:
            raise RunnerError(f"the ledger is away: {type(error).__name__}") from error

    # An SQLite ledger is on this machine and sleeps with it: nobody else takes the lease meanwhile.
    deadline = Deadline(counts_sleep=services.engine.dialect.name != "sqlite")
    return start_watchdog(f"run={run_id}", deadline, Silence(SILENT_S), Steps(end_containers, record_hang))
