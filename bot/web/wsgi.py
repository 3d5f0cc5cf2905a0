"""The Flask application behind an asynchronous server: it takes whole requests, and a thread for each.

a2wsgi would keep the thread while a client sends or reads slowly.
"""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Flask, Response
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from bot.web.live.response import StreamResponse

PIECES_AT_ONCE = 32  # of an answer that is read as it is sent; werkzeug reads files by 8 KB

# In a request's scope and environment: it is counted already, as a part of another one.
COUNTED = "cardinal.counted"

Follow = Callable[[StreamResponse, Receive, Send], Awaitable[None]]


class Bridge:
    """An ASGI application over Flask's; `follow` serves a response with a stream, if Flask has allowed it."""

    def __init__(self, app: Flask, *, threads: int, follow: Follow) -> None:
        self._app, self._follow, self._threads = app, follow, ThreadPoolExecutor(threads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises starlette's ClientDisconnect if the client leaves before it is whole."""
        environ = environ_of(scope, await Request(scope, receive).body())
        loop = asyncio.get_running_loop()
        response = await loop.run_in_executor(self._threads, self._respond, environ)
        if isinstance(response, StreamResponse) and scope["method"] != "HEAD":
            await self._follow(response, receive, send)
            return
        content, _, headers = response.get_wsgi_response(environ)
        pieces = iter(content)
        try:
            raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
            await send({"type": "http.response.start", "status": response.status_code, "headers": raw})
            while not response.is_sequence and (
                piece := await loop.run_in_executor(self._threads, _next_pieces, pieces)
            ):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"".join(pieces)})
        finally:
            response.close()

    def _respond(self, environ: dict[str, Any]) -> Response:
        """Do what Flask's `wsgi_app` does, up to the response."""
        with self._app.request_context(environ):
            try:
                return self._app.full_dispatch_request()
            except Exception as error:  # the top of a request: Flask logs it and makes a page
                return self._app.handle_exception(error)


def _next_pieces(pieces: Iterator[bytes]) -> bytes:
    return b"".join(islice(pieces, PIECES_AT_ONCE))


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
        "CONTENT_LENGTH": str(len(body)),
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
    return environ
