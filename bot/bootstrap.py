"""The composition root: everything that one process of Cardinal works with."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from redis import Redis
from sqlalchemy import Engine

from bot.github.client import Hub
from bot.github.errors import GithubError
from bot.state import served_boards
from bot.state.outbox_context import OutboxContext
from bot.state.served_boards import ServedBoard
from bot.system import config as configuration
from bot.system import liveness
from bot.system import redis as embedded_redis
from bot.system.clock import Clock, ledger_clock, utc_now
from bot.system.host_name import host_name
from ledger.ids import BoardId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store


@dataclass(frozen=True, slots=True)
class Services:
    """One process's configuration, ledger, GitHub, Redis, name and host; never shared across a fork.

    A process works for every board: `board` and `hub` are there once one is chosen, by `on` and its like.
    """

    config: configuration.Config
    engine: Engine
    context: OutboxContext
    redis: Redis
    name: str
    clock: Clock = utc_now
    host: str = ""

    @property
    def board(self) -> ServedBoard:
        """The board that they work for. Raises NoBoardChosenError."""
        return self.context.board

    @property
    def hub(self) -> Hub:
        """GitHub as the installation at the board's owner. Raises NoBoardChosenError."""
        return self.context.hub

    @property
    def bot_id(self) -> int:
        """The App's user id, as the first owner says it at whom the App may ask."""
        try:
            return self.context.app.bot_id
        except GithubError as error:
            for services in self.on_every_board():
                with suppress(GithubError):
                    return services.hub.bot_id
            raise error

    def on(self, board: ServedBoard) -> "Services":
        """Return the services for this board."""
        return self if board == self.context.chosen else replace(self, context=self.context.on(board))

    def on_board(self, board_id: BoardId) -> "Services":
        """Return the services for the board of this id. Raises UnservedBoardError."""
        with event_store.reading(self.engine) as db:
            return self.on(served_boards.require_board(db, self.config, board_id))

    def if_served(self, board_id: BoardId) -> "Services | None":
        """Return the services for the board of this id; None where Cardinal does not serve it."""
        with event_store.reading(self.engine) as db:
            board = served_boards.get(db, self.config, board_id)
        return self.on(board) if board else None

    def on_configured(self) -> "Services":
        """Return the services for the settings' board, for work on it alone."""
        return self.on(served_boards.read_configured_board(self.config))

    def on_every_board(self) -> "tuple[Services, ...]":
        """Return the services for each served board, those for the settings' board first."""
        with event_store.reading(self.engine) as db:
            return tuple(self.on(board) for board in served_boards.all_served(db, self.config))

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self.clock()

    def __enter__(self) -> "Services":
        return self

    def __exit__(self, *_: object) -> None:
        self.redis.close()
        self.engine.dispose()


def open_services(environ: Mapping[str, str], cwd: Path) -> Services:
    """Open everything for this process; raises a ConfigError that names missing settings."""
    config = configuration.read(environ, cwd)
    engine = open_ledger(config.database_url)
    # GitHub's tokens have nothing to do with the ledger, so the hub has a clock of its own.
    return services_over(config, engine, Hub(config, clock=utc_now), ledger_clock(engine))


def services_over(config: configuration.Config, engine: Engine, hub: Hub, clock: Clock) -> Services:
    """Return the services of this process over an open ledger."""
    return Services(
        config=config,
        engine=engine,
        context=OutboxContext(engine, config, clock, hub),
        redis=embedded_redis.connect_redis(config),
        name=liveness.name(os.getpid()),
        clock=clock,
        host=host_name(config),
    )


_open: dict[int, Services] = {}


def current() -> Services:
    """Return this process's services, opened at the first call: connections never cross a fork."""
    pid = os.getpid()
    if pid not in _open:
        _open.clear()
        _open[pid] = open_services(os.environ, Path.cwd())
    return _open[pid]
