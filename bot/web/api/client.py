"""The API's client: operations by their names, over HTTP; a fault is an error with the next step."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from ssl import SSLContext
from typing import Any

import httpx2
from httpx2 import EventSource

from bot.web.api.operation import OPERATIONS, Operation, check_fields
from bot.web.api.sending import (
    TIMEOUT_S,
    ApiUnreachableError,
    address_of,
    document_of,
    refusal_of,
)

SILENT_S = 40.0  # a stream says every 15 s that it lives


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A client with an address and a token, both held by `http`."""

    http: httpx2.AsyncClient

    async def call(self, name: str, fields: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Return an operation's output; with a key it acts once.

        Raises UnknownPartError, ApiProblemError, ApiUnreachableError.
        """
        operation = OPERATIONS.load(name)
        path, sent = _fill_path(operation, fields)
        more: dict[str, Any] = {"params": sent} if operation.METHOD == "GET" else {"json": sent}
        if key:
            more["headers"] = {"Idempotency-Key": key}
        try:
            answer = await self.http.request(operation.METHOD, path, **more)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self.unreachable(str(error) or type(error).__name__) from error
        return document_of(str(self.http.base_url), answer.status_code, answer.content)

    @asynccontextmanager
    async def stream(self, name: str, fields: Mapping[str, Any], after: str) -> AsyncIterator[EventSource]:
        """Open an operation's stream behind the event `after`.

        Raises UnknownPartError, ApiProblemError, httpx2.TransportError.
        """
        path, sent = _fill_path(OPERATIONS.load(name), fields)
        headers = {"Last-Event-ID": after} if after else {}
        async with self.http.sse(path, params=sent, headers=headers, timeout=SILENT_S) as source:
            answer = source.response
            if answer.status_code != HTTPStatus.OK:
                is_problem = answer.headers.get("Content-Type", "").startswith("application/problem+json")
                await answer.aread()
                raise refusal_of(answer.status_code, answer.json() if is_problem else {})
            yield source

    def unreachable(self, because: str) -> ApiUnreachableError:
        """Return the error for it."""
        return ApiUnreachableError(str(self.http.base_url), because)


def _fill_path(operation: Operation, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the operation's path, and the fields that it does not hold. Raises ApiProblemError."""
    return address_of(
        operation.PATH, check_fields(operation.Input, fields).model_dump(mode="json", exclude_unset=True)
    )


def connect_api(url: str, token: str) -> ApiClient:
    """Return a client of the Cardinal at that address."""
    headers = {"Authorization": f"Bearer {token}"}
    return ApiClient(httpx2.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S, verify=_trust()))


@cache
def _trust() -> SSLContext:
    """Return the authorities of this system: to read them takes longer than a call."""
    return httpx2.create_ssl_context()
