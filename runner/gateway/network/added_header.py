"""Secrets added to requests for one host, and taken out of its answers. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import h11

from runner.gateway.network.addresses import host_and_port
from runner.gateway.network.request import BadRequestError, framing_of, headers_for_host

HTTPS = 443
_MIN_BYTES = 6  # a shorter secret would be seen everywhere
# An answer packed, or in pieces of the agent's choice, could show a secret that the mask does not see.
_NOT_SENT = frozenset({b"accept-encoding", b"range", b"if-range"})
_NOT_RETURNED = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-connection", b"te", b"trailer"),
        *(b"upgrade", b"transfer-encoding", b"alt-svc"),
    }
)


@dataclass(frozen=True, slots=True)
class AddedHeader:
    """A header for the https requests to one host and port. `secret` is the secret's name."""

    host: str
    port: int
    secret: str
    header: bytes
    value: bytes = field(repr=False)
    hidden: bytes = field(repr=False)

    @classmethod
    def of(cls, authority: str, secret: str, header: str, form: str, value: str) -> "AddedHeader":
        """Return the header with the value in its form (`Bearer {}`). Raises BadAuthorityError."""
        host, port = host_and_port(authority.lower(), HTTPS)
        sent = form.replace("{}", value).encode("ascii")
        return cls(host, port, secret, header.lower().encode("ascii"), sent, value.encode("ascii"))


def with_secrets(request: h11.Request, host: str, port: int, added: Sequence[AddedHeader]) -> h11.Request:
    """Return the request for its host, alone on its connection, with the secrets.

    Raises BadRequestError and BadAuthorityError for one that is ambiguous, or for another host.
    """
    framing_of(request)
    if request.method in (b"TRACE", b"CONNECT") or not request.target.startswith(b"/"):
        raise BadRequestError("with a secret only plain requests for a path go out")
    named = [
        host_and_port(value.decode("latin-1"), HTTPS) for name, value in request.headers if name == b"host"
    ]
    if named != [(host, port)]:
        raise BadRequestError("the Host header names another host than the tunnel")
    ours = {header.header for header in added} | _NOT_SENT
    kept = [(name, value) for name, value in headers_for_host(request) if name not in ours]
    where = host if port == HTTPS else f"{host}:{port}"
    headers = [
        (b"host", where.encode()),
        *kept,
        (b"accept-encoding", b"identity"),
        *((header.header, header.value) for header in added),
        (b"connection", b"close"),
    ]
    return h11.Request(method=request.method, target=request.target, headers=headers)


class Mask:
    """Puts asterisks in place of secrets, so that no length changes."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = tuple(
            sorted({secret for secret in secrets if len(secret) >= _MIN_BYTES}, key=len, reverse=True)
        )
        self._keep = max(map(len, self._secrets), default=1) - 1
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return the bytes in which no secret can begin any more; the rest waits."""
        whole = self.hide(self._rest + chunk)
        cut = max(0, len(whole) - self._keep)
        self._rest = whole[cut:]
        return whole[:cut]

    def rest(self) -> bytes:
        rest, self._rest = self._rest, b""
        return rest

    def hide(self, text: bytes) -> bytes:
        for secret in self._secrets:
            text = text.replace(secret, b"*" * len(secret))
        return text

    def hide_in_name(self, name: bytes) -> bytes:
        """Return a header's name without secrets: names have no case, and arrive in small letters."""
        for secret in self._secrets:
            name = re.sub(re.escape(secret), b"*" * len(secret), name, flags=re.IGNORECASE)
        return name

    def headers(self, answer: h11.Response | h11.InformationalResponse) -> list[tuple[bytes, bytes]]:
        chunked = any(name == b"transfer-encoding" for name, _ in answer.headers)
        drop = _NOT_RETURNED | ({b"content-length"} if chunked else set())
        return [
            (self.hide_in_name(name), self.hide(value)) for name, value in answer.headers if name not in drop
        ]
