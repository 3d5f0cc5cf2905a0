"""The App's deliveries during a rehearsal, as GitHub itself lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.admin.rehearsal.belief import NotTriedError
from bot.github.client import Hub
from bot.github.failed_deliveries import NEXT, parse_cursor

PAGE, MAX_PAGES = 100, 5
SUBJECTS = ("projects_v2_item", "review", "comment", "pull_request", "issue")


@dataclass(frozen=True, slots=True)
class ListedDelivery:
    """One delivery with its payload. `delay_s`: from the change to the delivery, by GitHub's clock."""

    event: str
    action: str
    payload: Mapping[str, Any]
    headers: Mapping[str, Any]
    delay_s: float

    @property
    def subject(self) -> Mapping[str, Any]:
        """The thing that it is about."""
        return next((self.payload[name] for name in SUBJECTS if name in self.payload), {})


class Mail:
    """Reads the deliveries since `begin`, each once."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._known: set[int] = set()
        self._floor = ""
        self.deliveries: list[ListedDelivery] = []

    def begin(self) -> None:
        """Remember the deliveries until now; raises NotTriedError where GitHub sends nothing."""
        config = self._hub.as_app("GET", "/app/hook/config").body
        if not config.get("url"):
            raise NotTriedError("the App has no webhook")
        page = self._hub.as_app("GET", "/app/hook/deliveries", params={"per_page": PAGE}).body
        self._known = {int(listed["id"]) for listed in page}
        self._floor = max((str(listed["delivered_at"]) for listed in page), default="")

    def collect(self, events: frozenset[str], repository_id: int) -> None:
        """Read the new deliveries of these events, about no repository or about that one, oldest first."""
        params: dict[str, Any] = {"per_page": PAGE}
        fresh: list[Mapping[str, Any]] = []
        for _ in range(MAX_PAGES):
            answer = self._hub.as_app("GET", "/app/hook/deliveries", params=params)
            fresh += [listed for listed in answer.body if int(listed["id"]) not in self._known]
            following = NEXT.search(answer.headers.get("link", ""))
            is_past = any(str(listed["delivered_at"]) < self._floor for listed in answer.body[-1:])
            if following is None or is_past:
                break
            params["cursor"] = parse_cursor(following)
        for listed in reversed(fresh):
            self._known.add(int(listed["id"]))
            if listed["event"] in events and listed.get("repository_id") in (None, repository_id):
                self.deliveries.append(self._read(int(listed["id"]), str(listed["delivered_at"])))

    def _read(self, number: int, delivered_at: str) -> ListedDelivery:
        full = self._hub.as_app("GET", f"/app/hook/deliveries/{number}").body
        request = full["request"]
        delivery = ListedDelivery(
            str(full["event"]), str(full.get("action") or ""), request["payload"], request["headers"], 0.0
        )
        changed_at = (
            delivery.subject.get("updated_at") or delivery.subject.get("submitted_at") or delivered_at
        )
        delay = datetime.fromisoformat(delivered_at) - datetime.fromisoformat(changed_at)
        return ListedDelivery(
            delivery.event, delivery.action, delivery.payload, delivery.headers, delay.total_seconds()
        )
