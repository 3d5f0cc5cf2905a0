"""Claude on Google's Vertex AI: the Messages protocol at another address, paid by a token that expires.

Source: platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from runner.gateway.models.upstream import (
    AgentRequest,
    CredentialsError,
    Outgoing,
    Upstream,
    keep_known_betas,
    trust,
)
from runner.run.provider import VertexProvider

VERSION = "vertex-2023-10-16"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_S = 10.0  # for each of google-auth's few attempts
_ALL_S = 45.0
_COUNTING = "/count_tokens"
_UNUSABLE = "they are neither a service account's key nor what `gcloud auth application-default login` writes"
# Others are answered by "Unexpected value(s) for the `anthropic-beta` header": Claude Code names more than
# are known there. Source: the lists that gateways keep, as of November 2026.
BETAS = frozenset({
    "compact-2026-01-12", "compact-2026-09-04", "computer-use-2025-01-24", "computer-use-2025-11-24",
    "context-1m-2025-08-07", "context-management-2025-06-27", "dangerous-tool-use-2026-09-03",
    "interleaved-thinking-2025-05-14", "per-turn-control-2026-07-01", "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18", "tool-search-tool-2025-10-19", "web-search-2025-03-05",
})  # fmt: skip


class Vertex(Upstream):
    """Vertex with one project's token, which only this process has."""

    def __init__(self, provider: VertexProvider) -> None:
        self._provider = provider
        self._credentials = credentials_of(provider.key)
        self._renewing = asyncio.Lock()

    async def outgoing(self, incoming: AgentRequest) -> Outgoing:
        """Return the request for `rawPredict` or one of its kin."""
        request, counting = incoming.request, incoming.path.endswith(_COUNTING)
        path, body = translate(self._provider, {**request.given, **request.added}, counting=counting)
        headers = {"content-type": "application/json"}
        async with self._renewing:
            if not self._credentials.valid:  # minutes before it expires
                await _renew(self._credentials)
            self._credentials.apply(headers)  # a person's own login also names who is charged
        if betas := keep_known_betas(incoming.betas, BETAS):
            headers["anthropic-beta"] = ",".join(betas)
        sent = tuple((name.encode(), value.encode()) for name, value in headers.items())
        return Outgoing(root(self._provider) + path, body, sent)


def credentials_of(text: str) -> Any:
    """Return google-auth's credentials of a service account's key, or of a person's own login.

    Raises CredentialsError.
    """
    from google.oauth2 import credentials, service_account

    try:
        info = json.loads(text)
        if info["type"] == "service_account":
            return service_account.Credentials.from_service_account_info(info, scopes=[_SCOPE])
        return credentials.Credentials.from_authorized_user_info(info, scopes=[_SCOPE])
    except (ValueError, KeyError, TypeError) as error:
        raise CredentialsError(_UNUSABLE) from error


async def _renew(credentials: Any) -> None:
    """Fetch a token. Raises CredentialsError where it is refused, ConnectionError where nobody answers."""
    from google.auth.exceptions import GoogleAuthError, RefreshError

    try:
        async with asyncio.timeout(_ALL_S):
            await asyncio.to_thread(credentials.refresh, _fetch)
    except RefreshError as error:
        if error.retryable:
            raise ConnectionError("Google's token server failed") from error
        raise CredentialsError("Google's token server refuses them") from error
    except (GoogleAuthError, TimeoutError) as error:
        raise ConnectionError("Google's token server does not answer") from error


@dataclass(frozen=True, slots=True)
class _Fetched:
    """An answer, as google-auth reads it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def _fetch(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **_: object,
) -> _Fetched:
    """Make one of google-auth's requests: without proxy, netrc and redirects, whatever the environment."""
    from google.auth.exceptions import TransportError

    try:
        with httpx2.Client(verify=trust(), trust_env=False, timeout=_TOKEN_S) as client:
            response = client.request(method, url, content=body, headers=dict(headers or {}))
    except httpx2.HTTPError as error:
        raise TransportError(type(error).__name__) from error
    return _Fetched(response.status_code, response.headers, response.content)


def root(provider: VertexProvider) -> str:
    if provider.url:
        return provider.url.rstrip("/")
    match provider.region:
        case "global":
            return "https://aiplatform.googleapis.com"
        case "us" | "eu":
            return f"https://aiplatform.{provider.region}.rep.googleapis.com"
        case region:
            return f"https://{region}-aiplatform.googleapis.com"


def translate(provider: VertexProvider, given: Mapping[str, Any], *, counting: bool) -> tuple[str, bytes]:
    """Return path and body at Vertex for a request of the Messages protocol. Pure."""
    place = f"/v1/projects/{provider.project}/locations/{provider.region}/publishers/anthropic/models"
    body = {"anthropic_version": VERSION, **given}
    if counting:
        return f"{place}/count-tokens:rawPredict", json.dumps(body).encode()
    model = quote(str(body.pop("model")), safe="@")
    verb = "streamRawPredict" if given.get("stream") else "rawPredict"
    return f"{place}/{model}:{verb}", json.dumps(body).encode()
