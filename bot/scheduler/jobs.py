"""What the queues call, by id: every job reads the truth from the ledger and may run any number of times."""

import logging

from bot.bootstrap import WALL, Services, current
from bot.github.errors import GithubError
from bot.ingest import delivery
from bot.outbox import publisher
from bot.runspec import builder, retry
from bot.scheduler import cleanup, dispatch
from bot.scheduler.wakeups import settle, wake
from bot.sync import card as card_sync
from bot.sync import checks, sweep
from ledger.ids import CardId, DeliveryId, RunId
from rules.errors import PolicyError
from runner import supervisor
from runner.errors import KilledError
from runner.run.log import RunLog

log = logging.getLogger(__name__)

PUBLISH_S = 20  # one publishing job hands over to the next after this long, so that workers can be stopped


def ingest(delivery_id: str) -> None:
    """Turn one stored delivery into events and let the rules answer."""
    services = current()
    for card_id in delivery.ingest(services, DeliveryId(delivery_id)):
        sync_card(card_id)
    wake(services)


def sync_card(card_id: str) -> None:
    """Answer a card's doorbell."""
    services = current()
    card_sync.sync_card(services, CardId(card_id))
    wake(services)


def late_checks(card_id: str) -> None:
    """Look at the checks of a card's pull request without having been told."""
    services = current()
    checks.look_again(services, CardId(card_id))
    wake(services)


def publish(lane: str) -> None:
    """Carry out what is due in a lane of the outbox."""
    services = current()
    counts = publisher.publish_due(services.context, lane, within_s=PUBLISH_S)
    if counts.settled or counts.given_up:
        settle(services)


def sweep_board() -> None:
    """Compare the board with what is known, and ask GitHub for deliveries that failed."""
    services = current()
    for card_id in sweep.sweep(services):
        sync_card(card_id)
    wake(services)


def tidy() -> None:
    """Remove what dead claims and finished cards left behind."""
    cleanup.tidy(current())


def execute(run_id: str) -> None:
    """Claim one run and carry it as far as it goes: to its ending, or to a park."""
    carry_out(current(), RunId(run_id))


def carry_out(services: Services, run_id: RunId) -> None:
    """Do what `execute` says, for this shop."""
    lease = dispatch.claim(
        services.engine,
        run_id,
        worker=services.name,
        now=services.now(),
        ttl_s=retry.claim_s(services),
        slots=services.config.run_workers,
    )
    if lease is None:
        log.info("run not claimed run=%s reason=not_ready", run_id)
        return
    wake(services)
    try:
        order, remote = retry.make_order(services, run_id, lease)
        run_log = RunLog(
            services.engine,
            run_id,
            lease,
            WALL,
            ttl_s=services.config.lease_s,
            on_append=lambda: settle(services),
        )
        supervisor.execute(
            order,
            run_log,
            remote,
            WALL,
            allow_unsandboxed=services.config.allow_unsandboxed,
            providers=builder.providers(services.config),
        )
    except (GithubError, PolicyError) as error:
        log.warning("run not prepared run=%s reason=%s", run_id, error)
        dispatch.hand_back(services.engine, run_id, lease, error, now=services.now())
    except KilledError as error:
        log.warning("run taken back run=%s reason=%s", run_id, error)
        dispatch.take_back(services.engine, run_id, lease, error, now=services.now())
    finally:
        dispatch.let_go(services.engine, run_id, lease, now=services.now())
        settle(services)
