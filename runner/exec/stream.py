"""Reads a child's output and frames lines, in bounded memory: the rest waits in its pipe."""

import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

LINE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `error`: from stderr; `cut`: it was longer than the cap.

    `is_message` marks a whole message of the side channel; an empty one is its end.
    """

    text: str
    error: bool
    cut: bool
    is_message: bool = False


@dataclass(frozen=True, slots=True)
class Flooded:
    """The child wrote more than it may; nothing more is read."""

    read_bytes: int


@dataclass(frozen=True, slots=True)
class Closed:
    """Both outputs ended."""


Heard = Line | Flooded | Closed


@dataclass(slots=True)
class Framer:
    """Cuts bytes into lines; keeps at most `cap_bytes` of each."""

    error: bool
    cap_bytes: int = LINE_BYTES
    _rest: bytearray = field(default_factory=bytearray)
    _cut: bool = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end in `chunk`."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._keep(piece)
            yield self._line()
        self._keep(rest)

    def finish(self) -> Iterator[Line]:
        """Yield the last line, if it has no end."""
        if self._rest or self._cut:
            yield self._line()

    def _keep(self, piece: bytes) -> None:
        room = self.cap_bytes - len(self._rest)
        self._rest += piece[:room]
        self._cut = self._cut or len(piece) > room

    def _line(self) -> Line:
        line = Line(self._rest.decode("utf-8", "replace").removesuffix("\r"), self.error, self._cut)
        self._rest, self._cut = bytearray(), False
        return line


class Stream:
    """Reads stdout and stderr of one child until both end, or the cap is reached.

    `side_channel` is a descriptor of messages (SOCK_SEQPACKET); it does not count for cap and end.
    """

    def __init__(
        self, out: IO[bytes], err: IO[bytes], *, cap_bytes: int, side_channel: int | None = None
    ) -> None:
        self._pipes = {out.fileno(): Framer(error=False), err.fileno(): Framer(error=True)}
        self._cap_bytes = cap_bytes
        self._ready = select.poll()
        for descriptor in (*self._pipes, *(() if side_channel is None else (side_channel,))):
            self._ready.register(descriptor, select.POLLIN)
        self._ended = False
        self.read_bytes = 0

    def hear(self, wait_s: float) -> tuple[Heard, ...]:
        """Return the output that is there, waiting at most `wait_s` for some; empty without any."""
        until = time.monotonic() + wait_s
        while True:  # a piece of a line is read, and no output yet
            ready = self._ready.poll(max(0.0, until - time.monotonic()) * 1000)
            output = [piece for descriptor, _ in ready for piece in self._take(descriptor)]
            flooded = self.read_bytes > self._cap_bytes
            if not self._ended and (flooded or not self._pipes):
                self.close()
                output.append(Flooded(self.read_bytes) if flooded else Closed())
            if output or time.monotonic() >= until:
                return tuple(output)

    def close(self) -> None:
        """Read no more: the numbers of closed pipes become those of other files."""
        self._ended, self._ready = True, select.poll()

    def _take(self, descriptor: int) -> tuple[Heard, ...]:
        """Read one chunk or message, and return its lines; nothing is read after the end."""
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except ConnectionResetError:  # who sent messages died with words of ours unread
            chunk = b""
        if not chunk:
            self._ready.unregister(descriptor)
        framer = self._pipes.get(descriptor)
        if framer is None:
            return (Line(chunk.decode("utf-8", "replace"), error=False, cut=False, is_message=True),)
        if not chunk:
            del self._pipes[descriptor]
        self.read_bytes += len(chunk)
        return tuple(framer.feed(chunk) if chunk else framer.finish())
