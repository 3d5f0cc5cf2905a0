"""A web server in a thread, with open streams in these bounds."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from sqlalchemy import Engine

from bot.daemon import web_server
from bot.web.connections import ConnectionLimits, Connections
from bot.web.live.streams import StreamLimits, Streams
from bot.web.wsgi import Bridge


@contextmanager
def serving(
    app: Flask, engine: Engine, limits: StreamLimits | None = None, at: socket.socket | None = None
) -> Iterator[tuple[str, int]]:
    """Serve until the block ends; give the address. A listening socket that is handed over stays open."""
    streams = Streams(engine, limits)
    bridge = Bridge(app, deliveries="/door", threads=(1, 2), most_bytes=100_000, follow=streams.serve)
    ready = threading.Event()
    settings = web_server.server_settings(bridge, Connections(ConnectionLimits()))
    server = web_server.UvicornServer(settings, ready.set, streams.close)
    with contextlib.ExitStack() as until_then:
        listener = until_then.enter_context(at.dup() if at else socket.create_server(("127.0.0.1", 0)))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        until_then.callback(thread.join, 60)
        until_then.callback(setattr, server, "should_exit", True)
        assert ready.wait(60)
        host, port = listener.getsockname()[:2]
        yield host, port
