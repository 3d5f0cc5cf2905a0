"""The API's client: operations by their names, over HTTP; a fault is an error with the next step."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from ssl import SSLContext
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
from httpx2 import EventSource
from pydantic import ValidationError

from bot.web.api.operation import OPERATIONS, ROOT, ApiModel, Operation, faults_of
from ledger.errors import CardinalError
from rules.text import plain

TIMEOUT_S = 60.0
SILENT_S = 40.0  # a stream says every 15 s that it lives
NO_PLACE = frozenset({".", ".."})  # in a path they mean another one


class ApiProblemError(CardinalError):
    """The API did not do it: `because` and `remedy` as it gave them."""

    def __init__(self, status: int, code: str, because: str, remedy: str) -> None:
        self.status, self.code, self.because, self.remedy = status, code, because, remedy
        super().__init__(f"{because}: {remedy}")


class ApiUnreachableError(CardinalError):
    """Nothing that speaks the API answered."""

    def __init__(self, address: str, because: str) -> None:
        self.address, self.because = address, because
        remedy = "check that CARDINAL_URL is its address, and that Cardinal is running there"
        super().__init__(f"the API at {address} cannot be used: {because}; {remedy}")


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A client with an address and a token, both held by `http`."""

    http: httpx2.AsyncClient

    async def call(self, name: str, fields: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Return an operation's output; with a key it acts once.

        Raises UnknownPartError, ApiProblemError, ApiUnreachableError.
        """
        operation = OPERATIONS.load(name)
        path, sent = _placed(operation, fields)
        more: dict[str, Any] = {"params": sent} if operation.METHOD == "GET" else {"json": sent}
        if key:
            more["headers"] = {"Idempotency-Key": key}
        try:
            answer = await self.http.request(operation.METHOD, path, **more)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self.unreachable(str(error) or type(error).__name__) from error
        try:
            document = answer.json()
        except ValueError as error:
            raise self.unreachable(f"its {answer.status_code} response is not JSON") from error
        if not isinstance(document, dict):
            raise self.unreachable(f"its {answer.status_code} response is not a JSON object")
        if answer.status_code != HTTPStatus.OK:
            raise _problem(answer.status_code, document)
        return document

    @asynccontextmanager
    async def stream(self, name: str, fields: Mapping[str, Any], after: str) -> AsyncIterator[EventSource]:
        """Open an operation's stream behind the event `after`.

        Raises UnknownPartError, ApiProblemError, httpx2.TransportError.
        """
        path, sent = _placed(OPERATIONS.load(name), fields)
        headers = {"Last-Event-ID": after} if after else {}
        async with self.http.sse(path, params=sent, headers=headers, timeout=SILENT_S) as source:
            answer = source.response
            if answer.status_code != HTTPStatus.OK:
                is_problem = answer.headers.get("Content-Type", "").startswith("application/problem+json")
                await answer.aread()
                raise _problem(answer.status_code, answer.json() if is_problem else {})
            yield source

    def unreachable(self, because: str) -> ApiUnreachableError:
        """Return the error for it."""
        return ApiUnreachableError(str(self.http.base_url), because)


def _placed(operation: Operation, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the operation's path, and the fields that it does not hold. Raises ApiProblemError."""
    sent = checked(operation.Input, fields).model_dump(mode="json", exclude_unset=True)
    places = {it: str(sent.pop(it)) for it in re.findall(r"\{(\w+)\}", operation.PATH)}
    if NO_PLACE & set(places.values()):
        raise ApiProblemError(
            HTTPStatus.NOT_FOUND, "not_found", "there is nothing with that name", "check the spelling"
        )
    return ROOT + operation.PATH.format(**{it: quote(text, safe="") for it, text in places.items()}), sent


def connect_api(url: str, token: str) -> ApiClient:
    """Return a client of the Cardinal at that address."""
    headers = {"Authorization": f"Bearer {token}"}
    return ApiClient(httpx2.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S, verify=_trust()))


@cache
def _trust() -> SSLContext:
    """Return the authorities of this system: to read them takes longer than a call."""
    return httpx2.create_ssl_context()


async def _call_once(client: ApiClient, name: str, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    async with client.http:
        return await client.call(name, fields, key)


def call_once(url: str, token: str, name: str, fields: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """Return an operation's output, as `ApiClient.call` does, over a connection of its own."""
    return anyio.run(_call_once, connect_api(url, token), name, fields, key)


def checked(model: type[ApiModel], fields: Mapping[str, Any]) -> ApiModel:
    """Return the fields as an input. Raises ApiProblemError."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise ApiProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "unfit",
            faults_of(error, model),
            "follow its schema",
        ) from error


def _problem(status: int, document: Mapping[str, Any]) -> ApiProblemError:
    because, remedy = (plain(str(document.get(name, "")), 1000) for name in ("detail", "remedy"))
    return ApiProblemError(
        status,
        str(document.get("code", "")),
        because or f"it responded with {status}",
        remedy or "check its log",
    )
