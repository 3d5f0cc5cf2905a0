"""Connections of the web server: deadlines per phase; the oldest unfinished one makes room for a new one.

A slow client costs a place, never a thread. GitHub sends a delivery within about a second.
"""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_CONNECTIONS = 1000
MAX_HEAD_BYTES = 64 * 1024  # without the body that comes with it at once
MAX_HELD_BYTES = 128 * 1024 * 1024  # of all requests without an answer yet
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
    """Limits: the count of connections, the bytes that they hold, the seconds of each phase."""

    connections: int = MAX_CONNECTIONS
    held_bytes: int = MAX_HELD_BYTES
    seconds: dict[ConnectionPhase, float] = field(
        default_factory=lambda: {
            ConnectionPhase.HEAD: HEAD_S,
            ConnectionPhase.BODY: BODY_S,
            ConnectionPhase.ANSWER: ANSWER_S,
        }
    )


class Connections:
    """All connections of one server, the oldest first."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self.bounds = bounds
        self._open: dict[Connection, None] = {}
        self._held_bytes = 0

    def protocol(self, **given: Any) -> "Connection":
        """Return a new connection; uvicorn's protocol factory."""
        return Connection(self, **given)

    def add(self, new: "Connection") -> None:
        """Add a connection; beyond the limit, one that waits for its client is closed."""
        self._open[new] = None
        if len(self._open) > self.bounds.connections:
            self._drop_one()

    def hold(self, count_bytes: int) -> None:
        """Count bytes of a request; a negative number gives them back."""
        self._held_bytes += count_bytes
        if self._held_bytes > self.bounds.held_bytes:
            self._drop_one()

    def remove(self, gone: "Connection") -> None:
        """Remove a closed connection."""
        self._open.pop(gone, None)

    def _drop_one(self) -> None:
        """Close the oldest connection that waits for its client."""
        victim = next((it for it in self._open if it.waits_for_client()), None)
        if victim is not None:
            self.remove(victim)
            victim.drop(FULL)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with a deadline for each phase of a request, a bounded head, and no second request
    before the answer to the first: the library would keep any number.

    The parser takes fields behind a body for the head's, and no body of who wishes for another protocol.
    """

    def __init__(self, all_open: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._all = all_open
        self._timer: asyncio.TimerHandle | None = None
        self._now: tuple[object, ConnectionPhase] | None = None
        self._due = 0.0
        self._held_bytes = 0
        self._head_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._follow()
        self._all.add(self)

    def take(self, data: bytes) -> None:
        """Receive bytes of the client."""
        self._held_bytes += len(data)
        self._all.hold(len(data))
        if not self.transport.is_closing():  # else there was no room for it
            super().data_received(data)
            self._follow()
            if self.phase() is ConnectionPhase.HEAD and self._held_bytes > MAX_HEAD_BYTES:
                self.drop(LARGE_HEAD)

    data_received = take  # asyncio's name for it

    def on_message_begin(self) -> None:
        """Begin a request; hang up where the one before has no answer yet."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            raise HttpParserError("a request before the answer to another")  # or the rest would be parsed
        self._head_ended = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of the head; one behind the body counts for nothing, as nobody has checked it."""
        if not self._head_ended:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer; after a wish for another protocol nothing more is read as a request."""
        self._head_ended = True
        changes = self.parser.should_upgrade()
        if changes and any(name in BODY_FIELDS and value.strip() != b"0" for name, value in self.headers):
            raise HttpParserError("a body that would be read as the next request")
        super().on_headers_complete()
        if changes:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """Start the deadline of the next request."""
        self._release()
        super().on_response_complete()
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back its bytes and its place."""
        self._release()
        self._all.remove(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Stop; an incomplete request does not delay the server."""
        if self.phase() is ConnectionPhase.ANSWER:
            super().shutdown()
        else:
            self.transport.close()

    def phase(self) -> ConnectionPhase:
        """Return the current phase."""
        if self.cycle is None or self.cycle.response_complete:
            return ConnectionPhase.HEAD
        return ConnectionPhase.BODY if self.cycle.more_body else ConnectionPhase.ANSWER

    def waits_for_client(self) -> bool:
        """Tell whether the client must send or read next."""
        return self.phase() is not ConnectionPhase.ANSWER or self.flow.write_paused

    def drop(self, answer: bytes) -> None:
        """Close the connection, with this answer if none has begun."""
        self._release()
        idle = self.cycle is not None and self.phase() is ConnectionPhase.HEAD
        if self.flow.write_paused or idle or self.phase() is ConnectionPhase.ANSWER:
            self.transport.abort()
            return
        self.transport.write(answer)
        self.transport.close()

    def _follow(self) -> None:
        """Set the deadline of a new phase; an unchanged phase keeps its deadline."""
        now = (self.cycle, self.phase())
        if now == self._now or self.transport.is_closing():
            return
        self._now = now
        self._due = self.loop.time() + self._all.bounds.seconds[now[1]]
        # A timer that ends earlier serves: it looks again. Four timers for each request would be felt.
        if self._timer is None or self._timer.when() > self._due:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(self._due, self._expire)

    def _expire(self) -> None:
        if self.loop.time() < self._due:
            self._arm()
        else:
            self.drop(LATE)

    def _release(self) -> None:
        self._all.hold(-self._held_bytes)
        self._held_bytes = 0
