"""The web server's address `/mcp`; its modules are loaded with the first request."""

import asyncio
from http import HTTPStatus
from importlib import import_module

from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
MAX_AT_ONCE = 8  # each holds a body of 256 KiB at most
SERVER = "bot.web.mcp.over_http"


class McpDoor:
    """An ASGI application for `/mcp`; `api` serves the API."""

    def __init__(self, api: ASGIApp, public_url: str) -> None:
        self._api, self._public_url = api, public_url
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        status, header = self._refusal(scope)
        if status is not None:
            headers = [(b"content-length", b"0"), *([header] if header else [])]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        self._open += 1
        try:
            server = await asyncio.to_thread(import_module, SERVER)
            await server.serve_mcp(self._api, self._public_url, scope, receive, send)
        finally:
            self._open -= 1

    def _refusal(self, scope: Scope) -> tuple[HTTPStatus | None, tuple[bytes, bytes] | None]:
        """Return why the request is refused, unread; other pages may not use a browser for it."""
        headers, names = dict(scope["headers"]), [name for name, _ in scope["headers"]]
        if any(names.count(name) > 1 for name in (b"authorization", b"origin")):  # which would count?
            return HTTPStatus.BAD_REQUEST, None
        if scope["method"] != "POST":  # the server sends nothing by itself, and keeps no session
            return HTTPStatus.METHOD_NOT_ALLOWED, (b"allow", b"POST")
        if headers.get(b"origin", self._public_url.encode()) != self._public_url.encode():
            return HTTPStatus.FORBIDDEN, None
        if not headers.get(b"authorization", b"").lower().startswith(b"bearer "):
            return HTTPStatus.UNAUTHORIZED, (b"www-authenticate", b'Bearer realm="cardinal"')
        if self._open >= MAX_AT_ONCE:
            return HTTPStatus.SERVICE_UNAVAILABLE, (b"retry-after", b"5")
        return None, None
