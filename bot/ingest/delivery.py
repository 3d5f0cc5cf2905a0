"""One delivery ingested: parse it, read missing facts from GitHub, then record all in one transaction."""

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from bot.bootstrap import Services
from bot.github.errors import RateLimitedError, TokenError, UnavailableError
from bot.ingest import events as webhook_events
from bot.ingest import resolve
from bot.ingest.events import UnreadablePayloadError
from bot.ingest.events._payload import text_or_empty
from bot.ingest.facts import CardTouched, Fact, Resolution
from bot.reactor import reactor
from bot.state.hang_guard import SetAsideError, delivery_name, guard_hangs
from bot.sync.card import CardBusyError
from bot.system.current_work import working_on
from ledger.errors import CardinalError
from ledger.event import Event
from ledger.ids import CardId, DeliveryId
from ledger.log import event_store
from ledger.queue import change_reports, hangs, inbox, refresh_requests

log = logging.getLogger(__name__)

LIGHT_BYTES = 1024 * 1024  # a larger one might kill its worker: its attempts are counted
CLAIM_S = 20  # longer than the calls for one delivery take
RETRY_S = 5
BUSY_S = 1
ECHO_LATER_S = 5  # after GitHub's limit: what people said and did goes first
MAX_ATTEMPTS = 8
MAX_RETRY_AGE = timedelta(hours=24)  # of an outage: GitHub sends no delivery twice
MAX_RETRY_S = 60
NO_END = 1_000_000  # attempts: PATIENCE ends before
# Of GitHub, or of the ledger: its server is away, ended the session, or gave the turn to others for too long.
OUTAGES = (UnavailableError, RateLimitedError, TokenError, OperationalError)


class DeliveryError(CardinalError):
    """A delivery failed; it is kept and tried again, then quarantined."""

    def __init__(self, delivery_id: DeliveryId, error: Exception) -> None:
        self.delivery_id = delivery_id
        super().__init__(
            f"delivery {delivery_id} failed: {error}; `cardinal replay {delivery_id}` tries it again"
        )


def repository_of(delivery: inbox.Delivery) -> str:
    """Return the repository that the delivery names as its own; empty without a readable one."""
    try:
        return text_or_empty(json.loads(delivery.payload), "repository.full_name")
    except (UnreadablePayloadError, ValueError):
        return ""


@dataclass(frozen=True, slots=True)
class DeliveryContent:
    """What a delivery says; `by_app`: its sender is an app."""

    facts: tuple[Fact, ...]
    by_app: bool


def ingest_light(
    services: Services, delivery_ids: Collection[DeliveryId]
) -> tuple[tuple[CardId, ...], Mapping[DeliveryId, DeliveryContent | None]]:
    """Record in one transaction those deliveries that only request refreshes, or have nothing to say.

    Return the cards to refresh, and the other deliveries, each as it was read; None where `ingest` reads it.
    """
    with event_store.reading(services.engine) as db:
        waiting = inbox.still_waiting(db, delivery_ids)
        claimed = inbox.list_claimed(db, delivery_ids) if len(waiting) < len(delivery_ids) else ()
        hung = hangs.hang_counts(db, tuple(map(delivery_name, delivery_ids)))
    light: dict[DeliveryId, Resolution] = {}
    left: dict[DeliveryId, DeliveryContent | None] = {}
    for delivery in waiting:
        name = delivery_name(delivery.delivery_id)
        with working_on(name):
            content = None if name in hung else _read_harmless(services, delivery)
            if content is None or not all(isinstance(fact, CardTouched) for fact in content.facts):
                left[delivery.delivery_id] = content
            else:
                light[delivery.delivery_id] = resolve.resolve(services, content.facts)
    silent = tuple(delivery_id for delivery_id, result in light.items() if not result.has_news)
    if light:
        with working_on(*map(delivery_name, light)), event_store.writing(services.engine) as db:
            inbox.settle_waiting(db, silent, services.now())
            for delivery_id, result in light.items():
                if result.has_news and inbox.settle_waiting(db, (delivery_id,), services.now()):
                    _record(db, services, result)
    requested = tuple(card_id for result in light.values() for card_id in result.cards_to_refresh)
    return requested, left | dict.fromkeys(claimed)


def _read_harmless(services: Services, delivery: inbox.Delivery) -> DeliveryContent | None:
    """Read a delivery whose reading neither calls GitHub nor might kill this process; None for any other."""
    if delivery.event.startswith("installation") or len(delivery.payload) > LIGHT_BYTES:
        return None
    try:
        return _read(services, delivery)
    except (UnreadablePayloadError, ValueError):
        return None  # it is quarantined when it is ingested alone


def _read(services: Services, delivery: inbox.Delivery) -> DeliveryContent:
    payload = json.loads(delivery.payload)
    # The bot id cannot be read while the App is not installed.
    bot_id = 0 if delivery.event.startswith("installation") else services.bot_id
    facts = webhook_events.read(delivery.event, payload, bot_id=bot_id)
    sender = payload.get("sender")
    return DeliveryContent(facts, isinstance(sender, dict) and sender.get("type") == "Bot")


def ingest(
    services: Services, delivery_id: DeliveryId, content: DeliveryContent | None = None
) -> tuple[CardId, ...]:
    """Record one delivery's events and return the cards to refresh.

    `content` is what the delivery says, where it was read before. A failed delivery is tried again and
    quarantined after MAX_ATTEMPTS, or after a day of OUTAGES; the error is recorded and raised. While
    GitHub's limit is spent it waits, those of apps longer than people's.
    """
    delivery = inbox.claim(services.engine, delivery_id, lease_s=CLAIM_S)
    if delivery is None:
        return ()
    try:
        with guard_hangs(services.engine, delivery_name(delivery_id)):
            content = content or _read(services, delivery)
            result = resolve.resolve(services, content.facts)
            with event_store.writing(services.engine) as db:
                _record(db, services, result)
                inbox.settle(db, delivery, services.now())
    except Exception as error:  # the top of a job: recorded, then raised
        age = services.now() - delivery.received_at
        quarantined = inbox.record_failure(
            services.engine,
            delivery,
            f"{type(error).__name__}: {error}",
            retry_in_s=_retry_in_s(error, age, by_app=content is not None and content.by_app),
            max_attempts=_most_attempts(error, age),
        )
        if isinstance(error, RateLimitedError) and not quarantined:
            log.info(
                "delivery waits delivery=%s for_s=%.0f reason=%s", delivery_id, error.retry_after_s, error
            )
            return ()
        log.warning("delivery failed delivery=%s error=%s quarantined=%s", delivery_id, error, quarantined)
        raise DeliveryError(delivery_id, error) from error
    return tuple(dict.fromkeys(result.cards_to_refresh))


def _most_attempts(error: Exception, age: timedelta) -> int:
    if isinstance(error, UnreadablePayloadError | SetAsideError):
        return 1
    waits = isinstance(error, (*OUTAGES, CardBusyError)) and age < MAX_RETRY_AGE
    return NO_END if waits else MAX_ATTEMPTS


def _retry_in_s(error: Exception, age: timedelta, *, by_app: bool) -> float:
    if isinstance(error, RateLimitedError):
        return error.retry_after_s + (ECHO_LATER_S if by_app else 0)
    if isinstance(error, OUTAGES):
        return min(max(age.total_seconds() / 4, RETRY_S), MAX_RETRY_S)
    return BUSY_S if isinstance(error, CardBusyError) else RETRY_S


def _record(db: Connection, services: Services, result: Resolution) -> None:
    now = services.now()
    for card_id, board_id in result.refreshes:
        refresh_requests.add(db, card_id, board_id, result.moves.get(card_id))
    for card_id, change in result.changes:
        change_reports.add_report(
            db, card_id, change_reports.ChangeReport(change.by, change.about, change.value, change.at or now)
        )
    for make in result.makers:
        events: tuple[Event, ...] = make(db)
        if events:
            event_store.append(db, *events, at=now)
    reactor.advance(db, now=now)
