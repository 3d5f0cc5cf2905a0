"""Webhook deliveries that GitHub could not hand over, and asking for them again."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.github.hub import Hub
from ledger.ids import DeliveryId

PATH = "/app/hook/deliveries"
PAGE = 100
MOST_PAGES = 30  # older ones the sweep of the board makes up for
NEXT = re.compile(r'[?&]cursor=([^&>]+)[^>]*>;\s*rel="next"')
OK = range(200, 400)


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A delivery of which no attempt was accepted; `attempt_id` is GitHub's name for its newest attempt."""

    delivery_id: DeliveryId
    attempt_id: int
    event: str


def failed(hub: Hub, since: datetime) -> tuple[FailedDelivery, ...]:
    """Return the failed ones among the deliveries after `since`, oldest first.

    It goes on further back as long as it finds failures: GitHub keeps what was lost while nobody was here.
    Every attempt has its own id; all attempts of one delivery share its GUID.
    Source: docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook.
    """
    attempts: list[dict[str, Any]] = []
    params: dict[str, Any] = {"per_page": PAGE}
    for _ in range(MOST_PAGES):
        answer = hub.as_app("GET", PATH, params=params)
        page = answer.body
        attempts += page
        following = NEXT.search(answer.headers.get("link", ""))
        young = any(_time_of(attempt) > since for attempt in page[-1:])
        if following is None or not (young or _failed(page)):
            break
        params["cursor"] = following[1]
    return _failed(attempts)


def ask_again(hub: Hub, delivery: FailedDelivery) -> None:
    """Ask GitHub to deliver it again; it comes, or fails, as a new attempt."""
    hub.as_app("POST", f"{PATH}/{delivery.attempt_id}/attempts")


def _time_of(attempt: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(attempt["delivered_at"])


def _failed(attempts: Iterable[dict[str, Any]]) -> tuple[FailedDelivery, ...]:
    newest: dict[str, FailedDelivery] = {}
    accepted: set[str] = set()
    for attempt in attempts:  # newest first
        guid = str(attempt["guid"])
        if attempt.get("status_code", 0) in OK:
            accepted.add(guid)
        newest.setdefault(guid, FailedDelivery(DeliveryId(guid), int(attempt["id"]), str(attempt["event"])))
    return tuple(one for guid, one in reversed(newest.items()) if guid not in accepted)
