"""How a provider is called: the agent's request as the provider wants it, with the payer's credentials."""

import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from runner.errors import RunnerError
from runner.gateway.models.protocol import ModelRequest
from runner.run.provider import Provider

RawHeaders = Iterable[tuple[bytes, bytes]]
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
# Of proxies; and Google's own, which name a payer, another method, or the fields of an answer that come back:
# without its usage. Source: cloud.google.com/apis/docs/system-parameters.
_NOT_SENT_BEGINNINGS = (b"x-forwarded", b"x-goog-", b"x-http-method")
# The name of Anthropic, and that of Bedrock and Vertex AI.
_RENAMED = {"advanced-tool-use-2025-11-20": "tool-search-tool-2025-10-19"}
_BETA = b"anthropic-beta"
_OAUTH = "oauth-2025-04-20"  # the beta without which Anthropic takes no token in place of a key
_KEY_HEADERS = {"anthropic": b"x-api-key", "gemini": b"x-goog-api-key"}  # by default a bearer token
_NOT_RETURNED = _HOP_BY_HOP | {b"set-cookie", b"alt-svc"}


class CredentialsError(RunnerError):
    """The operator's credentials are refused or cannot be used; the text holds nothing of them."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A request of the agent: its path at the provider's own API, query, contents and headers."""

    path: str
    query: bytes
    request: ModelRequest
    headers: RawHeaders

    @property
    def betas(self) -> tuple[str, ...]:
        """The names in its `anthropic-beta` headers."""
        lines = (value.decode("ascii", "ignore") for name, value in self.headers if name == _BETA)
        return tuple(filter(None, (beta.strip() for line in lines for beta in line.split(","))))


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The same request for the provider; `headers` are all but those of the transport."""

    url: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]


class Upstream(ABC):
    """A provider as a gateway calls it."""

    @abstractmethod
    async def outgoing(self, incoming: AgentRequest) -> Outgoing:
        """Return the provider's form of a request.

        Raises CredentialsError, and ConnectionError where credentials cannot be had now.
        """

    def framing(self, kind: str) -> Callable[[bytes], bytes] | None:  # noqa: ARG002
        """Return the converter of this content type's stream to server-sent events; None: it needs none."""
        return None


class Direct(Upstream):
    """A provider that speaks the agent's own protocol, and is paid by a key, or by a subscription's token."""

    def __init__(self, provider: Provider) -> None:
        self._root = provider.url.rstrip("/").removesuffix("/v1").removesuffix("/v1beta")
        key = provider.key.encode()
        header = _KEY_HEADERS.get(provider.name)
        self._payer = (header, key) if header else (b"authorization", b"Bearer " + key)
        self._subscribed = provider.name == "subscription"

    async def outgoing(self, incoming: AgentRequest) -> Outgoing:
        """Return the client's request with the real key in place of its own."""
        query = f"?{incoming.query.decode('ascii', 'ignore')}" if incoming.query else ""
        sent = [
            header
            for header in _drop_headers(incoming.headers, _NOT_SENT)
            if not header[0].startswith(_NOT_SENT_BEGINNINGS)
        ]
        if self._subscribed:
            betas = ",".join(dict.fromkeys((*incoming.betas, _OAUTH))).encode()
            sent = [*(header for header in sent if header[0] != _BETA), (_BETA, betas)]
        url = self._root + incoming.path + query
        return Outgoing(url, incoming.request.sent, (*sent, self._payer))


def keep_known_betas(betas: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Return the betas that a platform knows, each once, under its own names."""
    named = (_RENAMED.get(beta, beta) for beta in betas)
    return tuple(dict.fromkeys(beta for beta in named if beta in known))


@cache
def trust() -> ssl.SSLContext:
    """Return the TLS context for providers, with the machine's own authorities."""
    return ssl.create_default_context()


def keep_response_headers(headers: RawHeaders, *, streamed: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers that the client gets; a stream may be cut, so it has no length."""
    drop = _NOT_RETURNED | ({b"content-length"} if streamed else set())
    return list(_drop_headers(headers, drop))


def _drop_headers(headers: RawHeaders, drop: frozenset[bytes] | set[bytes]) -> Iterable[tuple[bytes, bytes]]:
    lowered = [(name.lower(), value) for name, value in headers]
    named = {
        option.strip().lower()
        for name, value in lowered
        if name == b"connection"
        for option in value.split(b",")
    }
    return [(name, value) for name, value in lowered if name not in drop and name not in named]
