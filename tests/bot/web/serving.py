"""The web server: in a thread with real sockets, or as a client that needs none."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from sqlalchemy import Engine
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from bot.daemon.web_server import WebServer
from bot.system.clock import Clock
from bot.system.config import Config
from bot.web.app import make_web
from bot.web.connections import ConnectionLimits
from bot.web.group_commit import Wake
from bot.web.live.streams import Streams
from bot.web.small_request import Take

START_S = 60


def web_client(config: Config, engine: Engine, wake: Wake, clock: Clock) -> TestClient:
    """Return a client of all that the web server serves."""
    return TestClient(make_web(config, engine, wake, clock, Streams(engine)).app)


@contextmanager
def served(
    app: ASGIApp,
    limits: ConnectionLimits | None = None,
    stops: Callable[[], None] = lambda: None,
    at: socket.socket | None = None,
    takers: Mapping[bytes, Take] = MappingProxyType({}),
) -> Iterator[tuple[str, int]]:
    """Serve until the block ends; give the address. A listening socket that is handed over stays open."""
    ready = threading.Event()
    server = WebServer(app, limits or ConnectionLimits(), ready.set, stops, takers)
    with contextlib.ExitStack() as until_then:
        listener = until_then.enter_context(at.dup() if at else socket.create_server(("127.0.0.1", 0)))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        until_then.callback(thread.join, START_S)
        until_then.callback(setattr, server, "should_exit", True)
        assert ready.wait(START_S), "it does not start"
        host, port = listener.getsockname()[:2]
        yield host, port
