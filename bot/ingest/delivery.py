"""Ingests one delivery: what does it say, what must be looked up, then one transaction."""

import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.errors import RateLimitedError, TokenError, UnavailableError
from bot.ingest import events as intake
from bot.ingest import resolve
from bot.ingest.errors import CardBusyError, DeliveryError
from bot.ingest.events import UnreadablePayloadError
from bot.reactor import reactor
from ledger.event import Event
from ledger.ids import CardId, DeliveryId
from ledger.log import event_store
from ledger.queue import change_reports, inbox, refresh_requests

if TYPE_CHECKING:
    from bot.bootstrap import Shop

log = logging.getLogger(__name__)

CLAIM_S = 20  # longer than the look-ups of one delivery take
RETRY_S = 5
BUSY_S = 1
MOST_ATTEMPTS = 8
PATIENCE = timedelta(hours=24)  # GitHub comes back, and nobody tells the answer twice
LONGEST_RETRY_S = 60
NO_END = 1_000_000  # attempts: the patience ends before
OUTAGES = (UnavailableError, RateLimitedError, TokenError)


def ingest(shop: "Shop", delivery_id: DeliveryId) -> tuple[CardId, ...]:
    """Carry one delivery through commit 2 and return the cards whose doorbell it rang.

    One that fails is tried again, and quarantined after MOST_ATTEMPTS, but for a day where it is GitHub that
    fails; the error is recorded and raised.
    """
    delivery = inbox.claim(shop.engine, delivery_id, now=shop.now(), lease_s=CLAIM_S)
    if delivery is None:
        return ()
    try:
        payload = json.loads(delivery.payload)
        found = intake.read(delivery.event, payload, bot_id=_bot_id(shop, delivery.event))
        told = resolve.gather(shop, found)
        with event_store.writing(shop.engine) as db:
            _record(db, shop, told)
            inbox.settle(db, delivery, shop.now())
    except Exception as error:  # the top of a job: recorded, then raised
        age = shop.now() - delivery.received_at
        quarantined = inbox.fail(
            shop.engine,
            delivery,
            f"{type(error).__name__}: {error}",
            now=shop.now(),
            retry_in_s=_retry_in_s(error, age),
            max_attempts=_most_attempts(error, age),
        )
        log.warning("delivery failed id=%s error=%s quarantined=%s", delivery_id, error, quarantined)
        raise DeliveryError(delivery_id, error) from error
    return tuple(dict.fromkeys(told.rings))


def _bot_id(shop: "Shop", event: str) -> int:
    """Return the App's own id. Nobody gets it while the App is not installed."""
    return 0 if event.startswith("installation") else shop.hub.bot_id


def _most_attempts(error: Exception, age: timedelta) -> int:
    if isinstance(error, UnreadablePayloadError):
        return 1
    waits = isinstance(error, (*OUTAGES, CardBusyError)) and age < PATIENCE
    return NO_END if waits else MOST_ATTEMPTS


def _retry_in_s(error: Exception, age: timedelta) -> float:
    if isinstance(error, RateLimitedError):
        return error.retry_after_s
    if isinstance(error, OUTAGES):
        return min(max(age.total_seconds() / 4, RETRY_S), LONGEST_RETRY_S)
    return BUSY_S if isinstance(error, CardBusyError) else RETRY_S


def _record(db: Connection, shop: "Shop", told: resolve.Told) -> None:
    now = shop.now()
    for card_id, board_id in told.bells:
        refresh_requests.ring(db, card_id, board_id, now, told.moves.get(card_id))
    for card_id, change in told.changes:
        change_reports.add(
            db, card_id, change_reports.Report(change.by, change.about, change.value, change.at or now)
        )
    for make in told.makers:
        events: tuple[Event, ...] = make(db)
        if events:
            event_store.append(db, *events, at=now)
    reactor.advance(db, now=now)
