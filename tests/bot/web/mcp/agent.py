"""An agent with a token: the official package's own client, at a server over the API of Cardinal."""

import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp_types import CallToolResult
from starlette.routing import Route, Router

from bot.web.api.client import ApiClient
from bot.web.app import THREADS
from bot.web.mcp import server
from bot.web.mcp.door import PATH, McpDoor
from bot.web.wsgi import Bridge
from tests.bot.web.api.program import Program
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.bot.web.serving import served

Talk = Callable[[Client], Awaitable[None]]


def bridge(pages: Pages) -> Bridge:
    """Return the pages as the web process serves them, without what goes on."""

    async def follow(*_: object) -> None:
        raise AssertionError("no tool opens a stream")

    return Bridge(pages.app, threads=THREADS, follow=follow)


def api_client(pages: Pages, program: Program) -> ApiClient:
    headers = {"Authorization": f"Bearer {program.token}"}
    transport = httpx2.ASGITransport(bridge(pages))
    return ApiClient(httpx2.AsyncClient(transport=transport, base_url=PUBLIC, headers=headers))


@contextmanager
def listening(pages: Pages, listener: socket.socket) -> Iterator[None]:
    """Serve the pages and `/mcp` on a socket that is bound, and close it."""
    app = Router([Route(PATH, McpDoor(bridge(pages), PUBLIC))], default=bridge(pages))
    with listener, served(app, at=listener):
        yield


def talk(pages: Pages, program: Program, conversation: Talk) -> None:
    """Let a client talk to a server that acts for the program."""

    async def whole() -> None:
        async with Client(server.make_server(api_client(pages, program), "s")) as client:
            await conversation(client)

    anyio.run(whole)


def document(result: CallToolResult) -> Any:
    """Return what a tool gave."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content


def fault(result: CallToolResult) -> str:
    """Return why a tool did not do it."""
    assert result.is_error, result.content
    return result.content[0].text  # type: ignore[union-attr]
