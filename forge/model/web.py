"""The web server of the scripted model: requests in, streams out, and how they break on demand."""

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, cast

from forge.model import anthropic, chat, responses
from forge.model.conversation import Answer, Conversation, Tokens
from forge.model.reading import read
from forge.model.wire import Piece

PING_S = 0.5
KEYS = ("authorization", "x-api-key", "api-key")
_BODY_BYTES = 64 * 1024 * 1024
_WIRES = {"anthropic": anthropic, "responses": responses, "chat": chat}


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it came. Headers have lower-case names; `key` is what it was paid with."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Return the provider's key that came with it; empty without one."""
        given = next((self.headers[name] for name in KEYS if name in self.headers), "")
        return given.removeprefix("Bearer ")


@dataclass(slots=True)
class Served:
    """One call that was answered: `tokens` is the usage that was told of so far, None when none was."""

    protocol: str
    model: str
    run: str
    turn: str
    step: int
    tokens: Tokens | None = None
    complete: bool = False


class Desk(Protocol):
    """Who answers what comes in; `closing` is set when all is over."""

    closing: threading.Event

    def hear(self, heard: Heard) -> None:
        """Note a request."""

    def refuses(self, heard: Heard) -> bool:
        """Return whether the request was paid with a wrong key."""

    def answer(self, asked: Conversation) -> tuple[Answer, Served]:
        """Return what is said, and where to note what was told of its usage."""

    def complain(self, problem: str) -> None:
        """Note what an agent did that it should not have."""


class WebServer(ThreadingHTTPServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128
    desk: Desk

    def __init__(self, port: int, desk: Desk) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.desk = desk

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection; that an agent hangs up in the middle is nothing to report."""
        with suppress(ConnectionError):
            super().finish_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the model notes requests itself."""

    @property
    def _desk(self) -> Desk:
        return cast(WebServer, self.server).desk

    def do_HEAD(self) -> None:
        self._note({})
        self._send(200, {})

    def do_GET(self) -> None:
        self._note({})
        if self.path.split("?")[0].endswith("/models"):
            names = ("scripted-model",)
            self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        else:
            self._send(404, anthropic.failure(404, f"there is nothing at {self.path}"))

    def do_POST(self) -> None:
        try:
            body = json.loads(self._body() or b"{}")
        except (ValueError, OSError) as error:
            return self._send(400, anthropic.failure(400, f"the body cannot be read: {error}"))
        heard = self._note(body)
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self._send(200, {"input_tokens": len(json.dumps(body)) // 4})
        try:
            asked = read(path, body)
        except (AttributeError, KeyError, TypeError) as error:
            self._desk.complain(f"{path}: {type(error).__name__}: {error}")
            return self._send(400, anthropic.failure(400, "the request makes no sense"))
        if asked is None:
            return self._send(404, anthropic.failure(404, f"there is nothing at {self.path}"))
        if self._desk.refuses(heard):
            return self._fail(asked, 401, "this is not the key of the scripted model")
        answer, served = self._desk.answer(asked)
        if answer.delay_s and self._desk.closing.wait(answer.delay_s):
            self.close_connection = True
            return None
        if answer.status:
            return self._fail(asked, answer.status, answer.message, answer.retry_after)
        ident = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:24]
        if asked.stream:
            return self._stream(answer, asked, ident, served)
        return self._whole(answer, asked, ident, served)

    def _note(self, body: Mapping[str, Any]) -> Heard:
        heard = Heard(
            self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body
        )
        self._desk.hear(heard)
        return heard

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), _BODY_BYTES))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _fail(self, asked: Conversation, status: int, message: str, retry_after: int | None = None) -> None:
        told = anthropic if asked.protocol == "anthropic" else responses
        self._send(status, told.failure(status, message), retry_after)

    def _send(self, status: int, body: Mapping[str, Any], retry_after: int | None = None) -> None:
        told = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        if retry_after is not None:
            self.send_header("retry-after", str(retry_after))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)

    def _whole(self, answer: Answer, asked: Conversation, ident: str, served: Served) -> None:
        if answer.ending:
            self.close_connection = True
            if answer.ending != "cut":
                self._desk.closing.wait()
            return
        served.tokens, served.complete = answer.tokens, True
        self._send(200, _WIRES[asked.protocol].whole(answer, asked, ident))

    def _stream(self, answer: Answer, asked: Conversation, ident: str, served: Served) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        pieces = list(_WIRES[asked.protocol].stream(answer, asked, ident))
        for piece in pieces[: len(pieces) // 2] if answer.ending else pieces:
            self._write(piece, served)
            if answer.pace_s and self._desk.closing.wait(answer.pace_s):
                break
        if answer.ending:
            return self._break(answer.ending, asked, ident, served)
        served.complete = True  # before the last byte: whoever has read it may look at once
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _write(self, piece: Piece, served: Served) -> None:
        told = piece.encoded()
        served.tokens = piece.tokens or served.tokens
        self.wfile.write(f"{len(told):x}\r\n".encode() + told + b"\r\n")
        self.wfile.flush()

    def _break(self, ending: str, asked: Conversation, ident: str, served: Served) -> None:
        """Leave the stream unfinished: without its last chunk whoever reads it knows that it was cut."""
        self.close_connection = True
        ping = {
            "anthropic": anthropic.PING,
            "responses": responses.PING,
            "chat": chat.ping(asked, ident),
        }[asked.protocol]
        while ending != "cut" and not self._desk.closing.wait(PING_S):
            if ending == "hang":
                self._write(ping, served)
