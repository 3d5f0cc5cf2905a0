"""A provider on 127.0.0.1 that answers what a test lays down, byte for byte, and remembers what it got."""

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SSE = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Got:
    """One request as it arrived; names of headers are in lower case."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


@dataclass(slots=True)
class Answer:
    """What comes back: `pieces` one after the other, each a chunk. `cut`: the connection breaks after them.

    `holds`: it waits for `go` before the last piece; `silent`: before anything. `left` is set when the client
    hung up meanwhile.
    """

    pieces: tuple[bytes, ...]
    status: int = 200
    kind: str = SSE
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    holds: bool = False
    silent: bool = False
    go: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)


class Upstream:
    """The provider. Answers are given in their order, the last one again and again."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.got: list[Got] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def next(self) -> Answer:
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]

    def close(self) -> None:
        for answer in self.answers:
            answer.go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=60)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    upstream: Upstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up in these tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        upstream = self.server.upstream
        upstream.got.append(Got(self.command, self.path, headers, body))
        answer = upstream.next()
        try:
            self._give(answer)
        except OSError:  # it hung up before all was said
            answer.left.set()
            raise

    def _give(self, answer: Answer) -> None:
        if answer.silent and not self._wait(answer):
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        streamed = answer.kind == SSE
        if streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(sum(map(len, answer.pieces))))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for number, piece in enumerate(answer.pieces):
            if answer.holds and number == len(answer.pieces) - 1 and not self._wait(answer):
                return
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if streamed else piece)
        if answer.cut:
            self.close_connection = True
        elif streamed:
            self.wfile.write(b"0\r\n\r\n")

    def _wait(self, answer: Answer) -> bool:
        """Wait to go on; False when the client hung up."""
        self.connection.settimeout(0.02)
        for _ in range(1500):
            if answer.go.is_set():
                self.connection.settimeout(None)
                return True
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        answer.left.set()
        self.close_connection = True
        return False


@contextmanager
def provider() -> Iterator[Upstream]:
    """Run a provider."""
    upstream = Upstream()
    try:
        yield upstream
    finally:
        upstream.close()


def event(kind: str, **fields: Any) -> bytes:
    """Return one event as Anthropic and OpenAI's Responses write it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def messages(*texts: str, usage: Mapping[str, Any], output_tokens: int = 30) -> tuple[bytes, ...]:
    """Return an answer of Anthropic's Messages in pieces."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return (
        event("message_start", message={**start, "usage": {**usage, "output_tokens": 1}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("ping"),
        *(
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
            for text in texts
        ),
        event("content_block_stop", index=0),
        event(
            "message_delta",
            delta={"stop_reason": "end_turn", "stop_sequence": None},
            usage={"output_tokens": output_tokens},
        ),
        event("message_stop"),
    )


def responses(*texts: str, usage: Mapping[str, Any] | None, **end: Any) -> tuple[bytes, ...]:
    """Return an answer of OpenAI's Responses in pieces."""
    base = {"id": "resp_1", "object": "response", "model": "m", "output": []}
    last = {**base, "status": "completed", "usage": usage, **end}
    return (
        event("response.created", response={**base, "status": "in_progress"}, sequence_number=0),
        *(event("response.output_text.delta", item_id="i", delta=text) for text in texts),
        event(f"response.{last['status']}", response=last),
    )


def chat(*texts: str, usage: Mapping[str, Any] | None, done: bool = True) -> tuple[bytes, ...]:
    """Return an answer of Chat Completions in pieces."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        told = {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}
        return b"data: " + json.dumps(told).encode() + b"\n\n"

    return (
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": text}) for text in texts),
        chunk({}, "stop"),
        *((chunk({}, choices=[], usage=usage),) if usage is not None else ()),
        *((b"data: [DONE]\n\n",) if done else ()),
    )
