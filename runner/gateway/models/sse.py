"""Server-sent events in a stream of bytes that is forwarded unchanged. Pure."""

import re
from dataclasses import dataclass, field

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")  # source: html.spec.whatwg.org, 9.2.5
KIND = "text/event-stream"
_MAX_END = 4
_EVENT_BYTES = 16_000_000


@dataclass(slots=True)
class SseParser:
    """Finds the events in chunks. One over the cap is skipped, and only forwarded.

    `border` is the end of the last whole event in the newest chunk; 0 without one.
    """

    cap_bytes: int = _EVENT_BYTES
    border: int = 0
    _rest: bytearray = field(default_factory=bytearray)
    _skips: bool = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payload of every event that ends in `chunk`: its `data` lines, joined."""
        self.border = 0
        if b"\n" not in chunk and b"\r" not in chunk:  # in the middle of a long event
            self._keep(chunk)
            return []
        whole = bytes(self._rest + chunk)
        if b"\r" in whole:
            *events, rest = _END.split(whole)
        else:
            *events, rest = whole.split(b"\n\n")
        if not events:
            self._keep(chunk)
            return []
        self.border = len(chunk) - len(rest)
        if self._skips:
            self._skips = False
            del events[0]
        self._rest.clear()
        self._keep(rest)
        return [payload for event in events if (payload := _payload(event))]

    def _keep(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) > self.cap_bytes:
            self._skips = True
            del self._rest[:-_MAX_END]


def _payload(event: bytes) -> bytes:
    start = event.find(b"\n") + 1 if event.startswith(b"event:") else 0
    if event.startswith(b"data: ", start) and event.find(b"\n", start) < 0 and b"\r" not in event:
        return event[start + 6 :]  # as nearly all events are
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))


def event_bytes(payload: bytes, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + payload + b"\n\n"
