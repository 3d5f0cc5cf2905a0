"""Routes of model calls: from the gateway's paths to a provider, with headers and connections."""

import json
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import httpx2

from runner.gateway.control.link import Waits
from runner.gateway.models.anthropic import Messages
from runner.gateway.models.openai import Chat, Responses
from runner.gateway.models.protocol import Wire
from runner.run.run_spec import Provider

_KEEP_S = 15.0
# source: RFC 9110, 7.6.1
_HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings"),
    }
)
# Headers that would name another payer, or make the answer unreadable for the gateway.
_NOT_SENT = _HOP_BY_HOP | {
    *(b"host", b"content-length", b"expect", b"accept-encoding", b"cookie", b"forwarded"),
    *(b"authorization", b"x-api-key", b"api-key", b"openai-organization", b"openai-project"),
}
_NOT_RETURNED = _HOP_BY_HOP | {b"set-cookie", b"alt-svc"}
_RawHeaders = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Route:
    """A call's destination: `path` at the provider of `wire`. `free`: it costs nothing."""

    wire: Wire
    path: str
    free: bool = False


_MESSAGES, _RESPONSES = Messages(), Responses()
_CHAT, _COMPATIBLE = Chat("openai"), Chat("compatible")
ROUTES: Mapping[str, Route] = {
    "/anthropic/v1/messages": Route(_MESSAGES, "/v1/messages"),
    "/anthropic/v1/messages/count_tokens": Route(_MESSAGES, "/v1/messages/count_tokens", free=True),
    "/openai/v1/responses": Route(_RESPONSES, "/v1/responses"),
    "/openai/v1/chat/completions": Route(_CHAT, "/v1/chat/completions"),
    "/compatible/v1/chat/completions": Route(_COMPATIBLE, "/v1/chat/completions"),
}
LISTS: Mapping[str, Wire] = {
    "/anthropic/v1/models": _MESSAGES,
    "/openai/v1/models": _CHAT,
    "/compatible/v1/models": _COMPATIBLE,
}


def wire_of(path: str) -> Wire:
    """Return the protocol for errors at an unknown path."""
    return _MESSAGES if path.startswith("/anthropic/") else _CHAT


def models_listed(wire: Wire, models: tuple[str, ...]) -> bytes:
    """Return the list of models in that provider's format."""
    if wire.provider == "anthropic":
        rows = [{"type": "model", "id": name, "display_name": name} for name in models]
        ends = {"first_id": models[0] if models else None, "last_id": models[-1] if models else None}
        return json.dumps({"data": rows, "has_more": False, **ends}).encode()
    rows = [{"id": name, "object": "model", "owned_by": wire.provider} for name in models]
    # Codex looks for `models`, and complains when it is not there.
    return json.dumps({"object": "list", "data": rows, "models": []}).encode()


@cache
def trust() -> ssl.SSLContext:
    """Return the TLS context for providers, with the machine's own authorities."""
    return ssl.create_default_context()


def open_transport() -> httpx2.AsyncHTTPTransport:
    """Return connections without proxy, netrc, cookies and redirects, whatever the environment."""
    limits = httpx2.Limits(max_connections=256, max_keepalive_connections=8, keepalive_expiry=_KEEP_S)
    return httpx2.AsyncHTTPTransport(verify=trust(), trust_env=False, limits=limits)


def request(
    provider: Provider, path: str, query: bytes, body: bytes, headers: _RawHeaders, waits: Waits
) -> httpx2.Request:
    """Return the request to a provider: the client's, with the real key in place of its own."""
    root = provider.url.rstrip("/").removesuffix("/v1")
    address = httpx2.URL(root + path + (f"?{query.decode('ascii', 'ignore')}" if query else ""))
    sent = [(name, value) for name, value in _kept(headers, _NOT_SENT) if not name.startswith(b"x-forwarded")]
    key = provider.key.encode()
    secret = (b"x-api-key", key) if provider.name == "anthropic" else (b"authorization", b"Bearer " + key)
    sent += [
        (b"host", address.netloc),
        (b"content-length", str(len(body)).encode()),
        (b"accept-encoding", b"identity"),
        secret,
    ]
    limits = {"connect": waits.connect_s, "pool": waits.connect_s, "read": None, "write": waits.idle_s}
    return httpx2.Request("POST", address, headers=sent, content=body, extensions={"timeout": limits})


def returned(headers: _RawHeaders, *, streamed: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers that the client gets; a stream may be cut, so it has no length."""
    drop = _NOT_RETURNED | ({b"content-length"} if streamed else set())
    return list(_kept(headers, drop))


def _kept(headers: _RawHeaders, drop: frozenset[bytes] | set[bytes]) -> Iterable[tuple[bytes, bytes]]:
    lowered = [(name.lower(), value) for name, value in headers]
    named = {
        option.strip().lower()
        for name, value in lowered
        if name == b"connection"
        for option in value.split(b",")
    }
    return [(name, value) for name, value in lowered if name not in drop and name not in named]
