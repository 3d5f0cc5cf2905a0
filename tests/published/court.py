"""Judges all that the forges of this process answer and send, and keeps what was wrong until a test asks."""

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock

from bot.github.transport import USER_AGENT
from forge.payloads.judging import Exchange
from tests.published import fetching
from tests.published.documents import Documents
from tests.published.rest import Rest
from tests.published.webhooks import Webhooks

MAX_KEPT = 20
REFUSED = range(400, 500)


class Court:
    """A judge by what GitHub publishes. Descriptions are read at the first case; without them it is silent.

    In CI it is never silent: there, missing descriptions are a fault of their own.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._faults: dict[str, None] = {}
        self._verdicts: dict[int, bool] = {}
        self.seen: set[str] = set()  # what Cardinal asked for: `GET /user`, and GraphQL operations by name

    @cached_property
    def sits(self) -> bool:
        """Tell whether there is anything to judge by."""
        return fetching.here()

    @cached_property
    def rest(self) -> Rest:
        """The published REST API."""
        return Rest.published()

    @cached_property
    def webhooks(self) -> Webhooks:
        """The published webhooks."""
        return Webhooks.published()

    @cached_property
    def documents(self) -> Documents:
        """The published GraphQL schema."""
        return Documents.published()

    def prepare(self) -> None:
        """Read all descriptions, which takes seconds on a busy machine."""
        if self.sits:
            _ = self.rest, self.webhooks, self.documents

    def take(self) -> list[str]:
        """Return what was wrong since the last call, each fault once."""
        with self._lock:
            faults, self._faults = list(self._faults), {}
            return faults

    def note_exchange(self, exchange: Exchange) -> None:
        """Judge a request and its answer."""
        self._judge(f"{exchange.method} {exchange.path} ({exchange.status})", self.exchange_faults(exchange))

    def note_delivery(self, headers: Mapping[str, str], body: bytes) -> None:
        """Judge a delivery."""
        name = f"webhook {headers.get('X-GitHub-Event')}.{json.loads(body).get('action')}"
        self._judge(name, self.webhooks.faults(headers, body) if self.sits else iter(()))

    def exchange_faults(self, exchange: Exchange) -> Iterator[str]:
        """Yield what is wrong with both sides of an exchange.

        A test may ask what GitHub does not take, as long as the forge refuses it; Cardinal must not.
        """
        if not self.sits:
            return
        ours = exchange.agent == USER_AGENT
        if exchange.path in ("/graphql", "/api/graphql"):
            yield from self._document_faults(exchange, ours)
            return
        operation = self.rest.operation(exchange.method, exchange.path)
        if operation is None:
            if ours or exchange.status not in REFUSED:
                yield "GitHub has no such operation"
            return
        if ours:
            self.seen.add(operation.name)
            if not operation.for_apps and exchange.installed:
                yield "installation tokens may not call this"
        if ours or exchange.status not in REFUSED:
            asked = self.rest.request_faults(operation, exchange.path, exchange.query, exchange.body)
            yield from (f"request: {fault}" for fault in asked)
        if not exchange.faked:
            said = self.rest.answer_faults(operation, exchange.status, exchange.kind, exchange.answered)
            yield from (f"answer: {fault}" for fault in said)

    def _document_faults(self, exchange: Exchange, ours: bool) -> Iterator[str]:
        refused = exchange.status in REFUSED or b'"errors"' in exchange.answered
        if refused and not ours:
            return
        try:
            asked = json.loads(exchange.body)
            text, variables = str(asked["query"]), dict(asked.get("variables") or {})
        except (ValueError, LookupError, TypeError, AttributeError):
            yield "the body is no GraphQL request"
            return
        yield from self.documents.faults(text, variables)
        if ours:
            self.seen.add(" ".join(text.split("(", 1)[0].split()))

    def _judge(self, name: str, faults: Iterator[str]) -> None:
        if not self.sits and os.environ.get("CI"):
            faults = iter((fetching.MISSING,))
        told = [f"{name}: {fault}" for fault in faults]
        with self._lock:
            for one in told[: MAX_KEPT - len(self._faults)]:
                self._faults[one] = None
