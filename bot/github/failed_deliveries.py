"""Webhook deliveries that failed or that the ledger lost, and requests for their redelivery."""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from bot.github.client import Hub
from bot.github.errors import NotFoundError, RefusedError
from ledger.ids import DeliveryId

log = logging.getLogger(__name__)

PATH = "/app/hook/deliveries"
PAGE = 100
MAX_PAGES = 30  # of one sweep; the sweep of the board makes up for older ones
NEXT = re.compile(r'[?&]cursor=([^&>]++)[^>]*+>;\s*rel="next"')
OK = range(200, 400)
RETENTION = timedelta(days=3)  # docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries
RECENT = timedelta(minutes=10)  # far longer than the time between two sweeps
MAX_ASKED = 100  # redeliveries of one sweep; the next one goes on
FIRST_PAUSE = timedelta(seconds=30)  # after an attempt that failed; each further one doubles it, up to
MAX_PAUSE = timedelta(minutes=10)
MAX_ATTEMPTS = 450  # of one delivery: the days that GitHub keeps it

Came = Callable[[Iterable[DeliveryId]], frozenset[DeliveryId]]


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A delivery of which no attempt was accepted, or that an older ledger accepted.

    `attempt_id` is GitHub's name for its newest attempt, made at `tried_at`; there were `attempts` of them.
    """

    delivery_id: DeliveryId
    attempt_id: int
    event: str
    tried_at: datetime
    attempts: int = 1

    def is_due(self, now: datetime) -> bool:
        """Tell whether to request it now: not too often, not too soon, not after GitHub deleted it."""
        pause = _pause(self.attempts - 1) if self.attempts > 1 else timedelta()
        return self.tried_at + pause <= now and not self.is_hopeless(now)

    def is_hopeless(self, now: datetime) -> bool:
        """Tell whether it is never requested again: too many failures, or GitHub deleted it."""
        return self.attempts >= MAX_ATTEMPTS or now >= self.tried_at + RETENTION


def recover(hub: Hub, now: datetime, came: Came) -> tuple[FailedDelivery, ...]:
    """Request redelivery of failed deliveries that never arrived, oldest first; return them.

    `came` returns those of some deliveries that are in the inbox. Each is requested a few times, with growing
    pauses. All attempts of one have the same GUID, so a duplicate is recognised.
    """
    due = [delivery for delivery in list_failed(hub, now - RECENT, came) if delivery.is_due(now)]
    return _request(hub, due)


def recover_accepted(hub: Hub, now: datetime, came: Came, since: datetime) -> bool:
    """Request accepted deliveries after `since` again that never came; False when there are more.

    So a ledger that comes from a back-up hears later comments.
    """
    unknown = [lost for lost in _list(hub, since, came, accepted=True) if not lost.is_hopeless(now)]
    if unknown:
        log.info("accepted deliveries are requested that never came count=%d since=%s", len(unknown), since)
    _request(hub, unknown)
    return len(unknown) <= MAX_ASKED


def _request(hub: Hub, due: Iterable[FailedDelivery]) -> tuple[FailedDelivery, ...]:
    requested = []
    for delivery in _take(hub, due):
        try:
            hub.as_app("POST", f"{PATH}/{delivery.attempt_id}/attempts")
        except (NotFoundError, RefusedError) as error:  # it must not block those behind it
            log.warning("delivery not repeated delivery=%s reason=%s", delivery.delivery_id, error)
            continue
        requested.append(delivery)
    return tuple(requested)


def _take(hub: Hub, due: Iterable[FailedDelivery]) -> list[FailedDelivery]:
    """Return those that nobody requests just now, and record that they are: by another host, or in vain.

    GitHub lists an attempt when it is made, which may be long after the request.
    """

    def take(record: bytes, now_s: float) -> tuple[bytes, list[FailedDelivery]]:
        known: dict[str, tuple[float, int]] = json.loads(record or b"{}")
        young = {guid: it for guid, it in known.items() if now_s - it[0] < 2 * MAX_PAUSE.total_seconds()}
        free = list[FailedDelivery]()
        for delivery in due:
            at_s, times = young.get(delivery.delivery_id, (0.0, 0))
            if len(free) < MAX_ASKED and (not times or now_s >= at_s + _pause(times).total_seconds()):
                young[delivery.delivery_id] = now_s, times + 1
                free.append(delivery)
        return json.dumps(young).encode(), free

    due = list(due)
    return hub.records.change("requested redeliveries", take) if due else []


def _pause(failures: int) -> timedelta:
    """Return the pause after so many attempts in vain, one at least."""
    doublings = min(failures - 1, 10)
    return min(FIRST_PAUSE * float(2**doublings), MAX_PAUSE)


def list_failed(hub: Hub, since: datetime, came: Came = lambda _: frozenset()) -> tuple[FailedDelivery, ...]:
    """Return the failed deliveries after `since`, oldest first, without those that `came`.

    The search goes further back while it finds some, for outages of Cardinal. Without failures this is one
    call with an empty answer.
    Source: docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook.
    """
    return _list(hub, since, came)


def _list(hub: Hub, since: datetime, came: Came, *, accepted: bool = False) -> tuple[FailedDelivery, ...]:
    """Return the deliveries that did not come, oldest first: failed ones, or all after `since`."""
    attempts: list[dict[str, Any]] = []
    params: dict[str, Any] = {"per_page": PAGE, "status": "success" if accepted else "failure"}
    for _ in range(MAX_PAGES):
        answer = hub.as_app("GET", PATH, params=params)
        page = answer.body
        attempts += page
        following = NEXT.search(answer.headers.get("link", ""))
        young = any(_time_of(attempt) > since for attempt in page[-1:])
        if following is None or not (young or (not accepted and _missing(page, came))):
            break
        params["cursor"] = parse_cursor(following)
    if accepted:
        attempts = [attempt for attempt in attempts if _time_of(attempt) > since]
    return _missing(attempts, came, accepted=accepted)


def parse_cursor(following: re.Match[str]) -> str:
    """Return the cursor of a match of NEXT; it is quoted again on its way."""
    return unquote(following[1])


def _time_of(attempt: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(attempt["delivered_at"])


def _missing(
    attempts: Iterable[Mapping[str, Any]], came: Came, *, accepted: bool = False
) -> tuple[FailedDelivery, ...]:
    newest: dict[str, Mapping[str, Any]] = {}
    counts: dict[str, int] = {}
    good: set[str] = set()
    for attempt in attempts:  # newest first
        guid = str(attempt["guid"])
        if attempt.get("status_code", 0) in OK and not accepted:
            good.add(guid)
        newest.setdefault(guid, attempt)
        counts[guid] = counts.get(guid, 0) + 1
    open_ = [guid for guid in newest if guid not in good]
    delivery_ids = came(DeliveryId(guid) for guid in open_)
    return tuple(
        FailedDelivery(
            DeliveryId(guid), int(attempt["id"]), str(attempt["event"]), _time_of(attempt), counts[guid]
        )
        for guid in reversed(open_)
        if guid not in delivery_ids and (attempt := newest[guid])
    )
