"""The web server: uvicorn around the application, on a socket that was bound before it started."""

import resource
import signal
import socket
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType, MappingProxyType

import uvicorn
from starlette.types import ASGIApp

from bot.daemon.child import ALIVE_S
from bot.scheduler import delivery_wakeups
from bot.system import redis as embedded_redis
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.web.api.operation import OPERATIONS
from bot.web.app import make_web
from bot.web.connections import MAX_CONNECTIONS, MAX_HELD_BYTES, ConnectionLimits, Connections
from bot.web.live.streams import Streams
from bot.web.pages import PAGES
from bot.web.small_request import Take
from bot.web.webhook import MAX_BYTES
from ledger.errors import CardinalError
from ledger.lifecycle.open import open_ledger

KEEP_S, STOP_S = 5, 5
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
    """Serve until SIGTERM or SIGINT; ends by SystemExit. `ready` is called every few seconds."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)  # uvicorn raises the signal once more when it has stopped
    engine = open_ledger(config.database_url)
    wake = partial(delivery_wakeups.wake_ingestion, embedded_redis.connect_redis(config))
    streams = Streams(engine)
    web = make_web(config, engine, wake, utc_now, streams)
    WebServer(web.app, _room(config), ready, streams.close, web.takers).run([listener])


class WebServer(uvicorn.Server):
    """uvicorn's server with bounds for its connections; `stops` is called when it begins to stop."""

    def __init__(
        self,
        app: ASGIApp,
        limits: ConnectionLimits,
        ready: Callable[[], None],
        stops: Callable[[], None] = lambda: None,
        takers: Mapping[bytes, Take] = MappingProxyType({}),
    ) -> None:
        self._connections, self._stops = Connections(limits, takers), stops
        super().__init__(_settings(app, self._connections, ready))

    async def on_tick(self, counter: int) -> bool:
        """Check the connections; uvicorn calls it ten times a second."""
        self._connections.check()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the stop, then stop: long responses have to end, and no incomplete request delays it."""
        self._stops()
        for connection in self._connections.unfinished():
            connection.transport.close()
        await super().shutdown(sockets)


def _settings(app: ASGIApp, connections: Connections, ready: Callable[[], None]) -> uvicorn.Config:
    """Return uvicorn's settings: nothing of the environment, no word about itself, no header of a proxy."""

    async def notify() -> None:
        ready()

    return uvicorn.Config(
        connections.counting(app),
        http=connections.protocol,  # type: ignore[arg-type]  # a class was expected; it is only called
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        workers=1,
        timeout_keep_alive=KEEP_S,
        timeout_graceful_shutdown=STOP_S,
        timeout_notify=int(ALIVE_S),
        callback_notify=notify,
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
