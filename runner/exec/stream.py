"""The runner's only thread: reads a child's output and frames lines, in bounded memory."""

import os
import queue
import selectors
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

LINE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
_QUEUED_CHUNKS = 32  # with the chunk and line sizes, the most that waits in memory: about 4 MB
_OFFER_S = 0.2


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
    """Reads stdout and stderr of one child until both end, the cap is reached, or it is closed.

    `side_channel` is a descriptor of messages (SOCK_SEQPACKET); it does not count for cap and end.
    """

    def __init__(
        self, out: IO[bytes], err: IO[bytes], *, cap_bytes: int, side_channel: int | None = None
    ) -> None:
        self._pipes = {out.fileno(): Framer(error=False), err.fileno(): Framer(error=True)}
        self._side_channel = side_channel
        self._cap_bytes = cap_bytes
        self._waiting: queue.Queue[tuple[Heard, ...]] = queue.Queue(maxsize=_QUEUED_CHUNKS)
        self._abandoned = threading.Event()
        self.read_bytes = 0
        self._thread = threading.Thread(target=self._read, name="cardinal-stream", daemon=True)
        self._thread.start()

    def hear(self, wait_s: float) -> tuple[Heard, ...]:
        """Return the next output, waiting at most `wait_s`; empty without any."""
        try:
            return self._waiting.get(timeout=wait_s)
        except queue.Empty:
            return ()

    def close(self) -> None:
        """Stop reading. The owner of the pipes closes them afterwards."""
        self._abandoned.set()
        self._thread.join(timeout=5)

    def _read(self) -> None:
        with selectors.DefaultSelector() as ready:
            for descriptor in (*self._pipes, *(() if self._side_channel is None else (self._side_channel,))):
                ready.register(descriptor, selectors.EVENT_READ)
            open_pipes = set(self._pipes)
            while open_pipes and not self._abandoned.is_set():
                for key, _ in ready.select(timeout=_OFFER_S):
                    if not (
                        self._take_message(key.fd) if key.fd == self._side_channel else self._take(key.fd)
                    ):
                        ready.unregister(key.fd)
                        open_pipes.discard(key.fd)
                if self.read_bytes > self._cap_bytes:
                    self._offer((Flooded(self.read_bytes),))
                    return
        self._offer((Closed(),))

    def _take_message(self, descriptor: int) -> bool:
        """Offer one message from the side channel; False at its end."""
        try:
            message = os.read(descriptor, _CHUNK_BYTES)
        except ConnectionResetError:  # it died with words of ours unread
            message = b""
        self._offer((Line(message.decode("utf-8", "replace"), error=False, cut=False, is_message=True),))
        return bool(message)

    def _take(self, descriptor: int) -> bool:
        """Read one chunk and offer its lines; False at the end of that pipe."""
        chunk = os.read(descriptor, _CHUNK_BYTES)
        self.read_bytes += len(chunk)
        framer = self._pipes[descriptor]
        lines = tuple(framer.feed(chunk) if chunk else framer.finish())
        if lines:
            self._offer(lines)
        return bool(chunk)

    def _offer(self, output: tuple[Heard, ...]) -> None:
        while not self._abandoned.is_set():
            try:
                self._waiting.put(output, timeout=_OFFER_S)
                return
            except queue.Full:  # the reader is slow: the child waits in its write
                continue
