"""What the queues call, by id: every job reads the truth from the ledger and may run any number of times."""

import logging

from bot.bootstrap import WALL, Shop, current
from bot.github.errors import GithubError
from bot.ingest import delivery
from bot.outbox import publisher
from bot.runspec import builder, retry
from bot.scheduler import cleanup, dispatch
from bot.scheduler.wakeups import settle, wake
from bot.sync import card as looking
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
    shop = current()
    for card_id in delivery.ingest(shop, DeliveryId(delivery_id)):
        look(card_id)
    wake(shop)


def look(card_id: str) -> None:
    """Answer a card's doorbell."""
    shop = current()
    looking.look(shop, CardId(card_id))
    wake(shop)


def late_checks(card_id: str) -> None:
    """Look at the checks of a card's pull request without having been told."""
    shop = current()
    checks.look_again(shop, CardId(card_id))
    wake(shop)


def publish(lane: str) -> None:
    """Carry out what is due in a lane of the outbox."""
    shop = current()
    counts = publisher.publish_due(shop.hub, shop.desk, lane, within_s=PUBLISH_S)
    if counts.settled or counts.given_up:
        settle(shop)


def sweep_board() -> None:
    """Compare the board with what is known, and ask GitHub for deliveries that failed."""
    shop = current()
    for card_id in sweep.sweep(shop):
        look(card_id)
    wake(shop)


def tidy() -> None:
    """Remove what dead claims and finished cards left behind."""
    cleanup.tidy(current())


def execute(run_id: str) -> None:
    """Claim one run and carry it as far as it goes: to its ending, or to a park."""
    carry_out(current(), RunId(run_id))


def carry_out(shop: Shop, run_id: RunId) -> None:
    """Do what `execute` says, for this shop."""
    lease = dispatch.claim(
        shop.engine,
        run_id,
        worker=shop.name,
        now=shop.now(),
        ttl_s=retry.claim_s(shop),
        slots=shop.config.run_workers,
    )
    if lease is None:
        log.info("run not claimed run=%s reason=not_ready", run_id)
        return
    wake(shop)
    try:
        order, remote = retry.make_order(shop, run_id, lease)
        run_log = RunLog(
            shop.engine, run_id, lease, WALL, ttl_s=shop.config.lease_s, on_append=lambda: settle(shop)
        )
        supervisor.execute(
            order,
            run_log,
            remote,
            WALL,
            allow_unsandboxed=shop.config.allow_unsandboxed,
            providers=builder.providers(shop.config),
        )
    except (GithubError, PolicyError) as error:
        log.warning("run not prepared run=%s reason=%s", run_id, error)
        dispatch.hand_back(shop.engine, run_id, lease, error, now=shop.now())
    except KilledError as error:
        log.warning("run taken back run=%s reason=%s", run_id, error)
        dispatch.take_back(shop.engine, run_id, lease, error, now=shop.now())
    finally:
        dispatch.let_go(shop.engine, run_id, lease, now=shop.now())
        settle(shop)
