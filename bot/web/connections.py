"""Connections of the web server: deadlines per phase; the oldest unfinished one makes room for a new one.

A slow client costs a place, never a thread; GitHub sends a delivery within about a second. uvicorn has no
setting for this: it waits for ever for a request, and its `limit_concurrency` refuses the delivery that comes
next, not the client that is silent. docs/decisions/web-server.md has the figures.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from httptools import HttpParserError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.web.small_request import SmallRequest, Take, is_small

MAX_CONNECTIONS = 1000
MAX_HEAD_BYTES = 64 * 1024  # without the body that comes with it at once
MAX_HELD_BYTES = 128 * 1024 * 1024  # of the bodies of all requests without an answer yet
HEAD_S, BODY_S, ANSWER_S = 10.0, 30.0, 120.0

BODY_FIELDS = (b"content-length", b"transfer-encoding")  # that announce one

LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
LARGE_HEAD = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 10\r\nContent-Length: 0\r\n\r\n"
)


class ConnectionPhase(StrEnum):
    """The part of a request that a connection is in."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits: the count of connections, the bytes of their bodies, the seconds of each phase."""

    connections: int = MAX_CONNECTIONS
    held_bytes: int = MAX_HELD_BYTES
    seconds: dict[ConnectionPhase, float] = field(
        default_factory=lambda: {
            ConnectionPhase.HEAD: HEAD_S,
            ConnectionPhase.BODY: BODY_S,
            ConnectionPhase.ANSWER: ANSWER_S,
        }
    )


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with a bounded head and no second request before the answer to the first: the
    library would keep any number.

    Its parser takes fields behind a body for the head's, and no body of who wishes for another protocol.
    `takers` take small requests by path; their bodies are counted by `hold`.
    """

    head_bytes, head_ended = 0, False
    takers: Mapping[bytes, Take] = MappingProxyType({})
    hold: Callable[[int], None]

    def data_received(self, data: bytes) -> None:
        """Receive bytes of the client."""
        super().data_received(data)
        self.head_bytes = self.head_bytes + len(data) if phase_of(self) is ConnectionPhase.HEAD else 0
        if self.head_bytes > MAX_HEAD_BYTES:
            hang_up(self, LARGE_HEAD)

    def on_message_begin(self) -> None:
        """Begin a request; hang up where the one before has no answer yet."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            raise HttpParserError("a request before the answer to another")  # or the rest would be parsed
        self.head_ended = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of the head; one behind the body counts for nothing, as nobody has checked it."""
        if not self.head_ended:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer; after a wish for another protocol nothing more is read as a request."""
        self.head_ended = True
        changes = self.parser.should_upgrade()
        if changes and any(name in BODY_FIELDS and value.strip() != b"0" for name, value in self.headers):
            raise HttpParserError("a body that would be read as the next request")
        take = self.takers.get(self.url)
        if take is not None and is_small(self.parser.get_method(), self.headers):
            self.cycle = SmallRequest(self, take, self.hold)  # type: ignore[assignment]  # as far as it is used
            return
        super().on_headers_complete()
        if changes:
            self.cycle.keep_alive = False


class Connections:
    """The connections of one server, the oldest first, and the bytes of their requests.

    `takers` take small requests by path, without ASGI.
    """

    def __init__(self, limits: ConnectionLimits, takers: Mapping[bytes, Take] = MappingProxyType({})) -> None:
        self._limits, self._takers = limits, takers
        self._open: dict[Connection, tuple[object, ConnectionPhase, float]] = {}
        self._held_bytes = 0

    def protocol(self, **settings: Any) -> Connection:
        """Return a new connection; uvicorn's protocol factory."""
        connection = Connection(**settings)
        connection.takers, connection.hold = self._takers, self.hold
        self._open[connection] = None, ConnectionPhase.HEAD, time.monotonic()
        if len(self._open) > self._limits.connections:
            connection.loop.call_soon(self.check)  # once those that came at the same time have begun
        return connection

    def check(self) -> None:
        """Drop the connections that are late; beyond the limit, the oldest that wait for their clients."""
        now = time.monotonic()
        for connection, entered in list(self._open.items()):
            if is_gone(connection):
                del self._open[connection]
                continue
            request, phase = connection.cycle, phase_of(connection)
            if entered[:2] != (request, phase):
                self._open[connection] = request, phase, now
            elif now - entered[2] > self._limits.seconds[phase]:
                hang_up(connection, LATE)
        waiting = [connection for connection in self._open if waits_for_client(connection)]
        for connection in waiting[: max(0, len(self._open) - self._limits.connections)]:
            hang_up(connection, FULL)

    def unfinished(self) -> list[Connection]:
        """Return the connections in the middle of a body, the oldest first."""
        return [connection for connection in self._open if phase_of(connection) is ConnectionPhase.BODY]

    def hold(self, count_bytes: int) -> None:
        """Count bytes of a body; a negative number gives them back. The oldest body makes room for others."""
        self._held_bytes += count_bytes
        if count_bytes > 0 and self._held_bytes > self._limits.held_bytes:
            for oldest in self.unfinished()[:1]:
                hang_up(oldest, FULL)

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Return the application with the bytes of each request counted until it is answered."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            held_bytes = 0

            async def receive_and_hold() -> Message:
                nonlocal held_bytes
                message = await receive()
                size_bytes = len(message.get("body", b""))
                held_bytes += size_bytes
                self.hold(size_bytes)
                return message

            try:
                await app(scope, receive_and_hold, send)
            except ClientDisconnect:
                pass  # nobody is there to answer
            finally:
                self.hold(-held_bytes)

        return serve


def is_gone(connection: Connection) -> bool:
    """Tell whether nothing is left to send to a client that it will get no more of."""
    transport = connection.transport
    return transport is not None and transport.is_closing() and not transport.get_write_buffer_size()


def phase_of(connection: Connection) -> ConnectionPhase:
    """Return the phase of a connection; one that is closing sends what is left of its answer."""
    if connection.transport is not None and connection.transport.is_closing():
        return ConnectionPhase.ANSWER
    if connection.cycle is None or connection.cycle.response_complete:
        return ConnectionPhase.HEAD
    return ConnectionPhase.BODY if connection.cycle.more_body else ConnectionPhase.ANSWER


def waits_for_client(connection: Connection) -> bool:
    """Tell whether the client must send or read next."""
    transport = connection.transport
    if transport is None:  # accepted in this moment
        return False
    is_paused = transport.is_closing() or connection.flow.write_paused
    return is_paused or phase_of(connection) is not ConnectionPhase.ANSWER


def hang_up(connection: Connection, answer: bytes) -> None:
    """Close a connection, with this answer if its client has got none yet and waits for none."""
    has_answer = connection.cycle is not None and connection.cycle.response_started
    if has_answer or phase_of(connection) is ConnectionPhase.ANSWER:
        connection.transport.abort()
    else:
        connection.transport.write(answer)
        connection.transport.close()
