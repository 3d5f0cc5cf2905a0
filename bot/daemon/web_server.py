"""The web server: uvicorn around the application, on a socket that was bound before it started."""

import asyncio
import resource
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn

from bot.daemon.child import ALIVE_S
from bot.github.app_manifest import WEBHOOK_PATH
from bot.scheduler import delivery_wakeups
from bot.system import redis as embedded_redis
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.web.api.operation import OPERATIONS
from bot.web.app import make_app, make_door
from bot.web.connections import MAX_CONNECTIONS, MAX_HELD_BYTES, ConnectionLimits, Connections
from bot.web.live.streams import Streams
from bot.web.mcp.door import McpDoor
from bot.web.pages import PAGES
from bot.web.webhook import MAX_BYTES
from bot.web.wsgi import Bridge
from ledger.errors import CardinalError
from ledger.lifecycle.open import open_ledger
from runner.gateway.control.asgi import App

THREADS = (4, 8)  # for deliveries, for everything else
KEEP_S, STOP_S = 5, 5
DATE_S = 1.0
OTHER_FILES = 256  # that this process opens, apart from connections
BACKLOG = 1024  # deliveries that wait in the kernel while the server starts again


class AddressTakenError(CardinalError):
    """The web server's address cannot be bound."""

    def __init__(self, host: str, port: int, because: str) -> None:
        self.host, self.port = host, port
        super().__init__(f"cannot listen on {host}:{port}: {because}; set CARDINAL_PORT to another port")


def bind(config: Config) -> socket.socket:
    """Return the listening socket; held, it lets deliveries wait while a server restarts, not be refused.

    Raises AddressTakenError.
    """
    try:
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        return socket.create_server((config.host, config.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise AddressTakenError(config.host, config.port, error.strerror or str(error)) from error


def listen_address(listener: socket.socket) -> str:
    """Return the address that people and the forge can use."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def import_pages(config: Config) -> None:
    """Import all pages, so that web processes share them: their models take long to build."""
    if config.public_url:
        for registry in (PAGES, OPERATIONS):
            dict(registry.all())


def serve_web(config: Config, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; ends by SystemExit."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)  # uvicorn raises the signal once more when it has stopped
    engine = open_ledger(config.database_url)
    wake = partial(delivery_wakeups.wake_ingestion, embedded_redis.connect_redis(config))
    door, streams = make_door(config, engine, wake, utc_now), Streams(engine)
    bridge = Bridge(
        make_app(config, engine, wake, utc_now, door=door),
        deliveries=WEBHOOK_PATH,
        threads=THREADS,
        most_bytes=MAX_BYTES,
        follow=streams.serve,
        door=None if door is None else door.serve,
    )
    app = McpDoor(bridge, config.public_url) if config.public_url else bridge
    UvicornServer(server_settings(app, Connections(_room(config))), ready, streams.close).run([listener])


class UvicornServer(uvicorn.Server):
    """uvicorn's server; it says when it is ready and when it stops, and its process ends by SystemExit."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stops: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(config)
        self._ready, self._stops = ready, stops
        self._wake: Callable[[], object] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._ready()

    async def main_loop(self) -> None:
        """Serve until a signal; set the answers' date each second. uvicorn's own looks ten times as often.

        `ready` is called every few seconds then, as a sign of life.
        """
        signalled = asyncio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, signalled.set)
        alive_at = time.monotonic()
        while not await self.on_tick(0):
            if time.monotonic() - alive_at >= ALIVE_S:
                alive_at = time.monotonic()
                self._ready()
            with suppress(TimeoutError):
                await asyncio.wait_for(signalled.wait(), DATE_S)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal, and let `main_loop` see it at once."""
        super().handle_exit(sig, frame)
        self._wake()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the stop, then stop: long responses have to end."""
        self._stops()
        await super().shutdown(sockets)


def server_settings(app: App, connections: Connections) -> uvicorn.Config:
    """Return uvicorn's settings: nothing of the environment, no word about itself, no header of a proxy."""
    return uvicorn.Config(
        app,
        http=connections.protocol,  # type: ignore[arg-type]  # a class was expected; it is only called
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        workers=1,
        timeout_keep_alive=KEEP_S,
        timeout_graceful_shutdown=STOP_S,
    )


def _room(config: Config) -> ConnectionLimits:
    """Return the bounds of connections, for which this process may open as many files as it needs.

    Bytes are bounded for all web processes together.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < MAX_CONNECTIONS + OTHER_FILES:
        soft = min(hard, MAX_CONNECTIONS + OTHER_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    held_bytes = max(MAX_HELD_BYTES // config.web_processes, 2 * MAX_BYTES)
    return ConnectionLimits(min(MAX_CONNECTIONS, soft - OTHER_FILES), held_bytes)


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
