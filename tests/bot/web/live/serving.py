"""A web server in a thread, with open streams in these bounds."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from sqlalchemy import Engine

from bot.web.live.streams import StreamLimits, Streams
from bot.web.wsgi import Bridge
from tests.bot.web.serving import served


@contextmanager
def serving(
    app: Flask, engine: Engine, limits: StreamLimits | None = None, at: socket.socket | None = None
) -> Iterator[tuple[str, int]]:
    """Serve until the block ends; give the address. A listening socket that is handed over stays open."""
    streams = Streams(engine, limits)
    with served(Bridge(app, threads=2, follow=streams.serve), stops=streams.close, at=at) as place:
        yield place
