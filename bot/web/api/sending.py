"""One call of the API over a connection of its own, as `operations.json` describes it."""

import json
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ledger.errors import CardinalError
from rules.text import plain

FILE = Path(__file__).with_name("operations.json")
ROOT = "/api/v1"
TIMEOUT_S = 60.0
MAX_BYTES = 64 * 1024 * 1024  # of an answer
NO_PLACE = frozenset({".", ".."})  # in a path they mean another one
BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


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


@cache
def operations() -> Mapping[str, Mapping[str, Any]]:
    """Return every operation by name: its method, path, scope, fields, example and description."""
    read: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


def address_of(path: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path with its fields, and the fields that it does not hold. Raises ApiProblemError."""
    sent = dict(fields)
    places = {it: str(sent.pop(it)) for it in re.findall(r"\{(\w+)\}", path)}
    if NO_PLACE & set(places.values()):
        raise ApiProblemError(
            HTTPStatus.NOT_FOUND, "not_found", "there is nothing with that name", "check the spelling"
        )
    return ROOT + path.format(**{it: quote(text, safe="") for it, text in places.items()}), sent


def refusal_of(status: int, document: Mapping[str, Any]) -> ApiProblemError:
    """Return the error for a problem document."""
    because, remedy = (plain(str(document.get(name, "")), 1000) for name in ("detail", "remedy"))
    return ApiProblemError(
        status,
        str(document.get("code", "")),
        because or f"it responded with {status}",
        remedy or "check its log",
    )


def call_once(url: str, token: str, name: str, fields: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """Return an operation's output; with a key it acts once. Raises ApiProblemError, ApiUnreachableError."""
    operation = operations()[name]
    path, sent = address_of(operation["path"], fields)
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    body = None
    if operation["method"] == "GET":
        path += f"?{urlencode({it: _query_text(value) for it, value in sent.items()})}" if sent else ""
    else:
        body, headers["Content-Type"] = json.dumps(sent).encode(), "application/json"
    if key:
        headers["Idempotency-Key"] = key
    try:
        status, raw = _answer(url, operation["method"], path, body, headers)
    except (OSError, HTTPException, ValueError) as error:
        because = str(error.reason) if isinstance(error, URLError) else str(error)
        raise ApiUnreachableError(url, because or type(error).__name__) from error
    return document_of(url, status, raw)


def document_of(url: str, status: int, raw: bytes) -> dict[str, Any]:
    """Return the document of an answer. Raises ApiProblemError, ApiUnreachableError."""
    try:
        document = json.loads(raw)
    except ValueError as error:
        raise ApiUnreachableError(url, f"its {status} response is not JSON") from error
    if not isinstance(document, dict):
        raise ApiUnreachableError(url, f"its {status} response is not a JSON object")
    if status != HTTPStatus.OK:
        raise refusal_of(status, document)
    return document


def _query_text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _answer(
    url: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    address = urlsplit(url)
    if address.scheme not in ("http", "https"):
        raise ValueError("it is not an http or https address")
    request = Request(url.rstrip("/") + path, body, dict(headers), method=method)  # noqa: S310 -- seen above
    try:
        answer = build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S)
    except HTTPError as error:  # an answer as well
        answer = error
    with answer:
        raw = answer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"its response has more than {MAX_BYTES:,} bytes")
    return answer.status, raw


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: the token is for one address."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request."""
