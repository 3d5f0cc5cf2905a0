"""Connections of the web server: each has little time, and the oldest unfinished one makes room for new ones.

A slow client costs a place, never a thread. GitHub sends a delivery within a second or so, and is done.
"""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 1000
MAX_HELD_BYTES = 128 * 1024 * 1024  # of requests that are not answered yet, all together
HEAD_S, BODY_S, ANSWER_S = 10.0, 30.0, 120.0

LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 10\r\nContent-Length: 0\r\n\r\n"
)


class ConnectionPhase(StrEnum):
    """What a connection is waited for, or waits for."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, how many bytes they may hold, and how long each phase may last."""

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
        """Return the protocol of a new connection, as uvicorn asks for it."""
        return Connection(self, **given)

    def add(self, new: "Connection") -> None:
        """Take in a new connection; beyond the limit, one that is not getting on goes for it."""
        self._open[new] = None
        if len(self._open) > self.bounds.connections:
            self._drop_one()

    def hold(self, count_bytes: int) -> None:
        """Count bytes that a request brought, or with a negative number that are done with."""
        self._held_bytes += count_bytes
        if self._held_bytes > self.bounds.held_bytes:
            self._drop_one()

    def remove(self, gone: "Connection") -> None:
        """Forget a connection that is closed."""
        self._open.pop(gone, None)

    def _drop_one(self) -> None:
        """Close the oldest connection whose client has to do something before it is done."""
        victim = next((one for one in self._open if one.waits_for_client()), None)
        if victim is not None:
            self.remove(victim)
            victim.drop(FULL)


class Connection(H11Protocol):
    """uvicorn's protocol with a deadline for each phase of a request."""

    def __init__(self, all_open: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._all = all_open
        self._timer: asyncio.TimerHandle | None = None
        self._now: tuple[object, ConnectionPhase] | None = None
        self._held_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._follow()
        self._all.add(self)

    def take(self, data: bytes) -> None:
        """Take what the client sent."""
        self._held_bytes += len(data)
        self._all.hold(len(data))
        if not self.transport.is_closing():  # else there was no room for it
            super().data_received(data)
            self._follow()

    data_received = take  # asyncio's name for it

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        self._release()
        super().on_response_complete()
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back all that it held."""
        self._release()
        self._all.remove(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Stop; a request that has not come in by now does not hold the server up."""
        if self.phase() is ConnectionPhase.ANSWER:
            super().shutdown()
        else:
            self.transport.close()

    def phase(self) -> ConnectionPhase:
        """Return what happens on this connection now."""
        if self.cycle is None or self.cycle.response_complete:
            return ConnectionPhase.HEAD
        return ConnectionPhase.BODY if self.cycle.more_body else ConnectionPhase.ANSWER

    def waits_for_client(self) -> bool:
        """Tell whether the client has to send, or to read, before anything goes on."""
        return self.phase() is not ConnectionPhase.ANSWER or self.flow.write_paused

    def drop(self, answer: bytes) -> None:
        """Close the connection, with this answer where none has begun."""
        self._release()
        idle = self.cycle is not None and self.phase() is ConnectionPhase.HEAD
        if self.flow.write_paused or idle or self.phase() is ConnectionPhase.ANSWER:
            self.transport.abort()
            return
        self.transport.write(answer)
        self.transport.close()

    def _follow(self) -> None:
        """Set the deadline of the phase that has begun; one that goes on keeps the deadline that it has."""
        now = (self.cycle, self.phase())
        if now == self._now or self.transport.is_closing():
            return
        self._now = now
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self._all.bounds.seconds[now[1]], self.drop, LATE)

    def _release(self) -> None:
        self._all.hold(-self._held_bytes)
        self._held_bytes = 0
