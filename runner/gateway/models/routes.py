"""Routes of model calls: from the gateway's paths to a provider, and connections."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import parse_qs

import httpx2

from runner.gateway.control.terms import Waits
from runner.gateway.models.anthropic import Messages
from runner.gateway.models.gemini import Counting, Gemini
from runner.gateway.models.openai import Chat, Responses
from runner.gateway.models.protocol import Wire
from runner.gateway.models.upstream import Direct, Outgoing, Upstream, trust
from runner.run.provider import BedrockProvider, Provider, VertexProvider

_KEEP_S = 15.0
_EXTRAS = {
    "vertex": ("google", "google.auth"),
    "bedrock": ("botocore",),
}  # by provider, the package that signs for it


@dataclass(frozen=True, slots=True)
class Route:
    """A call's destination: `path` at the provider of `wire`. `free`: it costs nothing.

    `model` and `streamed` are what the path says of them; `query` is sent in place of the client's own.
    """

    wire: Wire
    path: str
    free: bool = False
    model: str = ""
    streamed: bool = False
    query: bytes | None = None


_MESSAGES, _RESPONSES = Messages(), Responses()
_CHAT, _COMPATIBLE = Chat("openai"), Chat("compatible")
_GEMINI, _COUNTING = Gemini(), Counting()
_GEMINI_CALL = re.compile(
    r"/gemini(/v1beta/models/([A-Za-z0-9][A-Za-z0-9._-]{0,99}):"
    r"(generateContent|streamGenerateContent|countTokens))"
)
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
    "/gemini/v1beta/models": _GEMINI,
}


def route_of(path: str, query: bytes) -> Route | None:
    """Return the destination of a call; None without one."""
    match = _GEMINI_CALL.fullmatch(path)
    if match is None:
        return ROUTES.get(path)
    there, model, verb = match.groups()
    if verb == "countTokens":
        return Route(_COUNTING, there, free=True, model=model, query=b"")
    streamed = verb == "streamGenerateContent"
    # Without it a stream is one long JSON list, of which nothing could be read before its end.
    if streamed and parse_qs(query.decode("ascii", "ignore")).get("alt") != ["sse"]:
        return None
    return Route(_GEMINI, there, model=model, streamed=streamed, query=b"alt=sse" if streamed else b"")


def wire_of(path: str) -> Wire:
    """Return the protocol for errors at an unknown path."""
    if path.startswith("/gemini/"):
        return _GEMINI
    return _MESSAGES if path.startswith("/anthropic/") else _CHAT


def models_listed(wire: Wire, models: tuple[str, ...]) -> bytes:
    """Return the list of models in that provider's format."""
    if wire.provider == "anthropic":
        rows = [{"type": "model", "id": name, "display_name": name} for name in models]
        ends = {"first_id": models[0] if models else None, "last_id": models[-1] if models else None}
        return json.dumps({"data": rows, "has_more": False, **ends}).encode()
    if wire.provider == "gemini":
        verbs = ["generateContent", "countTokens"]
        described = [
            {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": verbs}
            for name in models
        ]
        return json.dumps({"models": described}).encode()
    rows = [{"id": name, "object": "model", "owned_by": wire.provider} for name in models]
    # Codex looks for `models`, and complains when it is not there.
    return json.dumps({"object": "list", "data": rows, "models": []}).encode()


def open_transport() -> httpx2.AsyncHTTPTransport:
    """Return connections without proxy, netrc, cookies and redirects, whatever the environment."""
    limits = httpx2.Limits(max_connections=256, max_keepalive_connections=8, keepalive_expiry=_KEEP_S)
    return httpx2.AsyncHTTPTransport(verify=trust(), trust_env=False, limits=limits)


def provider_request(
    outgoing: Outgoing, waits: Waits, trace: Callable[[str, object], Awaitable[None]]
) -> httpx2.Request:
    """Return the request to a provider. `trace` gets the name of each step of the connection."""
    address = httpx2.URL(outgoing.url)
    sent = [
        *outgoing.headers,
        (b"host", address.netloc),
        (b"content-length", str(len(outgoing.body)).encode()),
        (b"accept-encoding", b"identity"),
    ]
    limits = {"connect": waits.connect_s, "pool": waits.connect_s, "read": None, "write": waits.idle_s}
    extensions = {"timeout": limits, "trace": trace}
    return httpx2.Request("POST", address, headers=sent, content=outgoing.body, extensions=extensions)


def payer_of(protocol: str, providers: Mapping[str, Provider]) -> Provider | None:
    """Return the provider for calls in a `protocol`, the `provider` of its Wire; None without one."""
    other = providers.get("subscription") if protocol == "anthropic" else None
    return providers.get(protocol, other)


def missing_extra(provider: Provider) -> str:
    """Return the missing package's installation as a sentence; empty where nothing is missing."""
    name = provider.name
    if all(find_spec(package) for package in _EXTRAS.get(name, ())):  # a parent before what is in it
        return ""
    return f"{name} needs an extra: `pip install 'cardinal-board[{name}]'`, restart Cardinal, then retry"


def upstream_of(provider: Provider) -> Upstream:
    """Return the upstream of a provider. Raises CredentialsError."""
    match provider:
        case VertexProvider():
            from runner.gateway.models.vertex import Vertex

            return Vertex(provider)
        case BedrockProvider():
            from runner.gateway.models.bedrock import Bedrock

            return Bedrock(provider)
        case _:
            return Direct(provider)
