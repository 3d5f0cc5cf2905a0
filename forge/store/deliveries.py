"""Record of webhook deliveries, bounded, newest last."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forge.errors import NotFoundError
from forge.store.base import Part, existing
from forge.store.registration import App, Delivery

MAX_DELIVERIES = 10_000


@dataclass(eq=False)
class Deliveries(Part):
    """Every delivery, sent or lost; `outlets` get each new one."""

    _records: dict[int, Delivery] = field(default_factory=dict)
    outlets: list[Callable[[Delivery], None]] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "outlets": []}  # a copy has no outlets yet

    def record(
        self,
        app: App,
        event: str,
        action: str | None,
        body: bytes,
        headers: dict[str, str],
        *,
        installation_id: int | None = None,
        repository_id: int | None = None,
        guid: str = "",
    ) -> Delivery:
        """Return a new pending delivery and give it to the outlets; a repeat has the GUID of the first."""
        redelivery, guid = bool(guid), guid or str(uuid.uuid4())
        delivery = Delivery(
            id=self.store.identifiers.next_id(),
            guid=guid,
            app=app,
            event=event,
            action=action,
            body=body,
            headers={**headers, "X-GitHub-Delivery": guid},
            created_at=self.store.clock.now(),
            installation_id=installation_id,
            repository_id=repository_id,
            redelivery=redelivery,
        )
        self._records[delivery.id] = delivery
        self.trim(MAX_DELIVERIES)
        for outlet in self.outlets:
            outlet(delivery)
        return delivery

    def trim(self, most: int) -> None:
        """Forget the oldest beyond `most`."""
        while len(self._records) > most:
            del self._records[next(iter(self._records))]

    def repeat(self, delivery: Delivery) -> Delivery:
        return self.record(
            delivery.app,
            delivery.event,
            delivery.action,
            delivery.body,
            delivery.headers,
            installation_id=delivery.installation_id,
            repository_id=delivery.repository_id,
            guid=delivery.guid,
        )

    def get(self, delivery_id: int, app: App | None = None) -> Delivery:
        """Return the delivery; raises NotFoundError."""
        delivery = existing(self._records.get(delivery_id))
        if app is not None and delivery.app is not app:
            raise NotFoundError()
        return delivery

    def all(self, app: App | None = None) -> list[Delivery]:
        return [
            delivery for delivery in reversed(self._records.values()) if app is None or delivery.app is app
        ]
