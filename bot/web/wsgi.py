"""The Flask application behind an asynchronous server, which takes whole requests.

A delivery of usual size goes past Flask: it is verified at once, then waits for its group's commit without a
thread. Any other request takes a thread once its last byte is there, and gives it back while the client
reads; large deliveries have threads that no page can take.
"""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote_to_bytes

from bot.web.live.response import LATER, StreamResponse
from runner.gateway.control.asgi import Receive, Scope, Send

PIECE_BYTES = 256 * 1024  # of an answer, taken from the application at once
SMALL_BYTES = 256 * 1024  # of a delivery: its signature and JSON take a few milliseconds

# In a request's scope and environment: it is counted already, as a part of another one.
COUNTED = "cardinal.counted"

Wsgi = Callable[..., Iterable[bytes]]
Follow = Callable[[StreamResponse, Receive, Send], Awaitable[None]]
Serve = Callable[[Scope, bytes, Send], Awaitable[None]]


class Bridge:
    """An ASGI application over one for WSGI; the path `deliveries` has threads of its own.

    `follow` serves a response with a stream, once the application has allowed it. `door` serves deliveries of
    usual size; without it the application does.
    """

    def __init__(
        self,
        app: Wsgi,
        *,
        deliveries: str,
        threads: tuple[int, int],
        most_bytes: int,
        follow: Follow,
        door: Serve | None = None,
    ) -> None:
        self._app, self._deliveries, self._most_bytes = app, deliveries, most_bytes
        self._follow, self._serve = follow, door
        self._door, self._rest = (ThreadPoolExecutor(count) for count in threads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; nothing if the client leaves before it is complete."""
        read = await self._read(scope, receive)
        if read is None:
            return
        body, whole = read
        is_delivery = scope["path"] == self._deliveries and scope["method"] == "POST"
        if is_delivery and self._serve is not None and whole and len(body) <= SMALL_BYTES:
            await self._serve(scope, body, send)
            return
        loop = asyncio.get_running_loop()
        pool = self._door if is_delivery else self._rest
        answer = _Answer(self._app, environ_of(scope, body))
        piece = await loop.run_in_executor(pool, answer.begin)
        if answer.later is not None:
            await self._follow(answer.later, receive, send)
            return
        headers = answer.headers if whole else [*answer.headers, (b"connection", b"close")]
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            while not answer.ended:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await loop.run_in_executor(pool, answer.more)
            await send({"type": "http.response.body", "body": piece})
        finally:
            answer.close()

    async def _read(self, scope: Scope, receive: Receive) -> tuple[bytes, bool] | None:
        """Return the body and whether it is whole; of a too large one only the beginning."""
        body = bytearray()
        if _declared(scope) > self._most_bytes:
            return b"", False
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._most_bytes or not message.get("more_body", False):
                return bytes(body), len(body) <= self._most_bytes


class _Answer:
    """The application's answer; `begin` and `more` may block, so they run in threads.

    A response with a stream is in `later` after `begin`.
    """

    def __init__(self, app: Wsgi, environ: dict[str, Any]) -> None:
        self._app, self._environ = app, environ
        self._pieces: Iterator[bytes] = iter(())
        self._source: Iterable[bytes] = ()
        self.status, self.ended = 500, False
        self.headers: list[tuple[bytes, bytes]] = []
        self.later: StreamResponse | None = None

    def begin(self) -> bytes:
        """Call the application and return the first piece."""
        later: list[StreamResponse] = []
        self._source = self._app({**self._environ, LATER: later}, self._start)
        self._pieces = iter(self._source)
        self.later = next(iter(later), None)
        return b"" if later else self.more()

    def _start(self, status: str, headers: Sequence[tuple[str, str]], _error: object = None) -> None:
        self.status = int(status[:3])
        self.headers = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in headers]

    def more(self) -> bytes:
        """Return the next piece; after the last one it has ended."""
        piece = bytearray()
        for part in self._pieces:
            piece += part
            if len(piece) >= PIECE_BYTES:
                return bytes(piece)
        self.close()
        return bytes(piece)

    def close(self) -> None:
        """Close the application's iterable, once."""
        close = getattr(self._source, "close", None)
        self.ended, self._source = True, ()
        if close is not None:
            close()


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """Return the environment of PEP 3333.

    The application is always at the root. A header with `_` in its name is dropped: it could fake another.
    """
    host, port = scope.get("server") or ("", None)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        COUNTED: scope.get(COUNTED, False),
    }
    for raw, value in scope["headers"]:
        name, text = raw.decode("latin-1"), value.decode("latin-1")
        if "_" in name or name in {"content-length", "transfer-encoding"}:
            continue
        key = "CONTENT_TYPE" if name == "content-type" else f"HTTP_{name.upper().replace('-', '_')}"
        between = "; " if name == "cookie" else ","
        environ[key] = f"{environ[key]}{between}{text}" if key in environ else text
    declared = _declared(scope)
    if body or declared:
        environ["CONTENT_LENGTH"] = str(max(len(body), declared))
    return environ


def _declared(scope: Scope) -> int:
    """Return the declared length of the request, a number as the parser has checked; 0 without one."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
