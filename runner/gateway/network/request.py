"""Requests to the proxy: parsed strictly, and rewritten for their host. Pure."""

import re
from dataclasses import dataclass

import h11

from runner.errors import RunnerError
from runner.gateway.network.addresses import host_and_port

_ABSOLUTE = re.compile(r"(?i:http)://(?P<authority>[^/?#]+)(?P<path>/[^#]*)?(?P<query>\?[^#]*)?")
# They speak about one connection, or to a proxy, and end here.
_NOT_FORWARDED = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"upgrade", b"http2-settings", b"host",
    }
)  # fmt: skip


class BadRequestError(RunnerError):
    """The request is ambiguous, or not one for a proxy."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"network: {problem}")


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request's destination. `tunnel`: by CONNECT; else `target` is its path."""

    host: str
    port: int
    tunnel: bool
    request: h11.Request
    target: str = ""


def target_of(request: h11.Request) -> ProxyRequest:
    """Return the destination. Raises BadRequestError and BadAuthorityError."""
    framed = framing_of(request)
    target = request.target.decode("latin-1")
    if request.method == b"CONNECT":
        if framed:
            raise BadRequestError("CONNECT has no body")
        host, port = host_and_port(target)
        return ProxyRequest(host, port, True, request)
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        raise BadRequestError(
            "this is a proxy: ask for `http://host/path`, or CONNECT to `host:443` for https"
        )
    host, port = host_and_port(match["authority"], 80)
    for name, value in request.headers:
        if name == b"host" and host_and_port(value.decode("latin-1"), 80) != (host, port):
            raise BadRequestError("the Host header names another host than the address")
    path = (match["path"] or "/") + (match["query"] or "")
    return ProxyRequest(host, port, False, request, path)


def framing_of(request: h11.Request) -> list[bytes]:
    """Return the names of the headers that say the body's length. Raises BadRequestError for several."""
    names = [name for name, _ in request.headers]
    framed = [name for name in names if name in (b"content-length", b"transfer-encoding")]
    if len(framed) > 1 or (framed == [b"transfer-encoding"] and request.http_version != b"1.1"):
        raise BadRequestError("the length of the request is said in more than one way")
    return framed


def headers_for_host(request: h11.Request) -> list[tuple[bytes, bytes]]:
    named = {
        option.strip().lower()
        for name, value in request.headers
        if name == b"connection"
        for option in value.split(b",")
    } - {b"content-length", b"transfer-encoding"}
    return [
        (name, value) for name, value in request.headers if name not in _NOT_FORWARDED and name not in named
    ]


def onward(proxied: ProxyRequest) -> h11.Request:
    """Return the request for its host, alone on its connection, with the checked host."""
    host = f"[{proxied.host}]" if ":" in proxied.host else proxied.host
    written = host if proxied.port == 80 else f"{host}:{proxied.port}"
    headers = [(b"host", written.encode()), *headers_for_host(proxied.request), (b"connection", b"close")]
    return h11.Request(
        method=proxied.request.method, target=proxied.target.encode("latin-1"), headers=headers
    )
