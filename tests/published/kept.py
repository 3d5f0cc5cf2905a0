"""A forge whose exchanges and deliveries are kept, for tests that judge them themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from forge.payloads.judging import Exchange, Judge
from forge.web.server import Forge


@dataclass
class Kept:
    """A judge that keeps what it is told, for tests that change it afterwards."""

    exchanges: list[Exchange] = field(default_factory=list)
    deliveries: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def prepare(self) -> None:
        pass

    def note_exchange(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)

    def note_delivery(self, headers: Mapping[str, str], body: bytes) -> None:
        self.deliveries.append((dict(headers), body))

    def exchange(self, method: str, end: str) -> Exchange:
        """Return the first exchange with that method whose path ends so."""
        return next(one for one in self.exchanges if one.method == method and one.path.endswith(end))

    def delivery(self, event: str, action: str | None = None) -> tuple[dict[str, str], bytes]:
        """Return the first delivery of that event."""
        return next(
            (headers, body)
            for headers, body in self.deliveries
            if headers["X-GitHub-Event"] == event and json.loads(body).get("action") == action
        )


class KeepingForge(Forge):
    """A forge with a judge of its own."""

    judge: ClassVar[Judge | None] = None
