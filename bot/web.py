"""The web server: gunicorn around the application, on a socket that was bound before it started."""

import socket
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]  # gunicorn 27

from bot import queues
from bot import redis as embedded
from bot.app import make_app
from bot.config import Config
from bot.shop import utc_now
from ledger.engine import open_ledger
from ledger.errors import CardinalError
from ledger.ids import DeliveryId
from runner.death import with_parent

THREADS = 8
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


def address(listener: socket.socket) -> str:
    """Return the address that people and the forge can use."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(config: Config, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT, in one worker of gunicorn's with threads; ends by SystemExit."""
    _Server(config, listener, ready).run()


def load(config: Config) -> Flask:
    """Return the application with connections of this process's own."""
    redis = embedded.connect(config)

    def wake(delivery_id: DeliveryId) -> bool:
        job_id = f"ingest-{delivery_id}"
        return queues.enqueue(redis, queues.QueueName.CONTROL, "bot.jobs.ingest", delivery_id, job_id=job_id)

    return make_app(config, open_ledger(config.database_url), wake, utc_now)


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn 27 has no types
    def __init__(self, config: Config, listener: socket.socket, ready: Callable[[], None]) -> None:
        self._config, self._listener, self._ready = config, listener, ready
        super().__init__()

    def load_config(self) -> None:
        """Give gunicorn its settings; see docs.gunicorn.org/en/stable/settings.html."""
        follows: list[Callable[[], None]] = []

        def before_fork(_server: Any, _worker: Any) -> None:
            follows.append(with_parent())

        def after_fork(_server: Any, _worker: Any) -> None:
            follows[-1]()

        settings: dict[str, Any] = {
            "bind": [f"fd://{self._listener.fileno()}"],
            "worker_class": "gthread",
            "workers": 1,
            "threads": THREADS,
            "preload_app": False,
            "timeout": 30,
            "graceful_timeout": 5,
            "accesslog": None,
            "errorlog": "-",
            "loglevel": "warning",
            "control_socket_disable": True,
            "pre_fork": before_fork,
            "post_fork": after_fork,
            "post_worker_init": lambda _worker: self._ready(),
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Return the application; called in the worker, after the fork."""
        return load(self._config)
