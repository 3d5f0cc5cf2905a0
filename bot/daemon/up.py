"""`cardinal up`: web server, workers, ticks and Redis as one group of processes."""

import errno
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from socket import socket
from tempfile import TemporaryFile
from types import FrameType

from bot.bootstrap import Services, current
from bot.daemon import web_server, workers
from bot.daemon.child import ALIVE_S, RESTS, ProcessRole, Ready
from bot.daemon.group import ProcessGroup
from bot.daemon.standby import Post, Roster
from bot.github.app_manifest import WEBHOOK_PATH
from bot.scheduler import ticker
from bot.scheduler.queues import QueueName
from bot.state import served_boards
from bot.system import config as configuration
from bot.system import git_exclude, lock_file, model_keys, program
from bot.system import redis as embedded_redis
from bot.system.config import Config
from bot.system.current_work import CurrentWork
from bot.system.host_name import host_name
from bot.system.lock_file import Presence
from ledger.errors import CardinalError
from ledger.lifecycle import upgrade_backup
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.private_files import make_folder
from ledger.log import event_store
from runner.gateway.control import link

CONTROL_WORKERS = 2
IDLE_S = 30  # after this long without a job a worker gives its memory back, and stands by
WORK_NICE = 5  # of workers: GitHub waits 10 s for the web server's answer, and never delivers again
STANDBY_SILENT_S = 15.0  # as long as a Redis that does not answer keeps it silent, and more
WEB_SILENT_S = 60.0  # its loop waits for nothing
TICKER_SILENT_S = 300.0  # each step may wait for the ledger's lock, one after the other
PATIENCE_S = 0.05  # that a wake-up waits for the first worker before another one helps
PROBE_BYTES = 64 * 1024  # that a start has to find room for

Say = Callable[[str], None]
Listen = Callable[[Path], AbstractContextManager[socket]]
Receive = Callable[[socket], None]


class NoRedisError(CardinalError):
    """No Redis answers, from which workers take wake-ups."""

    def __init__(self, home: Path) -> None:
        self.home = home
        up = program.of_home(home)
        super().__init__(f"no Redis answers: start `{up}`, or set CARDINAL_REDIS_URL to a running one")


class UnwritableHomeError(CardinalError):
    """Nothing can be kept in the home."""

    def __init__(self, home: Path, error: OSError) -> None:
        self.home = home
        step = "give this user write access, or name another folder in CARDINAL_HOME"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            step = "free some space there"
        super().__init__(f"cannot write to the home {home}: {error.strerror or error}; {step}")


def up(environ: Mapping[str, str], cwd: Path, say: Say, listen: Listen, receive: Receive) -> None:
    """Run everything until SIGTERM or SIGINT; each connection to the socket of `listen` is for `receive`.

    Raises AlreadyUpError, ConfigError, AddressTakenError.
    """
    config = _prepare(environ, cwd, Config.require_github, say)
    web_server.import_pages(config)
    with (
        lock_file.hold_lock(config.home),
        web_server.bind(config) as listener,
        listen(config.home) as visitors,
    ):
        address = web_server.listen_address(listener)
        roster = _roster(config, tuple(QueueName))
        roles = (
            *_redis(config),
            *web_roles(config, listener),
            *_working(config, tuple(QueueName), roster, tick=True),
        )

        def record_children(pids: Mapping[str, int]) -> None:
            lock_file.record_presence(config.home, Presence(os.getpid(), address, pids))

        say(f"{program.of_home(config.home)} pid={os.getpid()} home={config.home}")
        say(_way_in(config, address))
        ProcessGroup(
            roles=roles,
            say=say,
            changed=record_children,
            requests=roster.requests,
            visitors=visitors,
            receive=receive,
        ).run()
    say("cardinal is down")


def serve(environ: Mapping[str, str], cwd: Path, say: Say) -> None:
    """Run the web server alone; it stores deliveries without a Redis and without the App's key, too.

    Raises ChangingHomeError.
    """
    config = _prepare(environ, cwd, Config.require_web, say)
    web_server.import_pages(config)
    with lock_file.hold_part(config.home), web_server.bind(config) as listener:
        say(_way_in(config, web_server.listen_address(listener)))
        ProcessGroup(web_roles(config, listener), say).run()


def work(
    environ: Mapping[str, str], cwd: Path, say: Say, *, names: tuple[QueueName, ...], tick: bool
) -> None:
    """Run workers alone, of the queues in `names`. Raises NoRedisError, ChangingHomeError."""
    config = _prepare(environ, cwd, Config.require_github, say)
    with lock_file.hold_part(config.home):
        client = embedded_redis.connect_redis(config)
        if not embedded_redis.is_reachable(client):
            raise NoRedisError(config.home)
        client.close()
        roster = _roster(config, names)
        ProcessGroup(_working(config, names, roster, tick=tick), say, requests=roster.requests).run()


def _prepare(environ: Mapping[str, str], cwd: Path, require: Callable[[Config], None], say: Say) -> Config:
    """Upgrade the ledger, import all that children share, and return the configuration.

    Raises ConfigError for missing settings, by `require`.
    """
    config = configuration.read(environ, cwd)
    require(config)
    _open_home(config.home)
    git_exclude.hide(config.home)

    def progress(position: int, last: int) -> None:
        say(f"views of this version are folded beside those at work: {position} of {last} events")

    before = partial(upgrade_backup.back_up, say=say)
    engine = open_ledger(config.database_url, progress=progress, before=before)
    with event_store.reading(engine) as db:
        served_boards.refuse_another(db, config)
    engine.dispose()
    workers.warm_up()
    if model_keys.providers(config, config.board.owner) or (config.home / model_keys.FOLDER).is_dir():
        link.warm()  # the gateways of all runs are forked from here on, and share what they import
    return config


def _open_home(home: Path) -> None:
    """Make the home, for this user alone, and see that it can be written. Raises UnwritableHomeError."""
    try:
        make_folder(home)
        if home.stat().st_uid == os.geteuid():
            home.chmod(0o700)  # it may have been there, for everybody to read
        with TemporaryFile(dir=home) as probe:
            probe.write(bytes(PROBE_BYTES))
            os.fsync(probe.fileno())
    except OSError as error:
        raise UnwritableHomeError(home, error) from error


def _way_in(config: Config, address: str) -> str:
    """Return the sentence about the way in: webhooks, or looks at the board."""
    if config.webhooks:
        return f"webhooks are received at {address}{WEBHOOK_PATH}"
    return (
        f"no webhooks (CARDINAL_WEBHOOKS is false): the board is looked at every {config.sweep_s:.0f} s; "
        "what is said in comments and reviews is not heard"
    )


def _redis(config: Config) -> tuple[ProcessRole, ...]:
    if config.redis_url is not None:
        return ()
    command = embedded_redis.server_command(config.home)
    client = embedded_redis.connect_redis(config)

    def become(_ready: Ready) -> None:
        os.execv(command[0], command)  # noqa: S606 -- no shell is the point

    return (ProcessRole("redis", become, ground=True, check=lambda: embedded_redis.is_reachable(client)),)


def web_roles(config: Config, listener: socket) -> tuple[ProcessRole, ...]:
    """Return the web processes: whichever is free first accepts from the socket that all share."""
    return tuple(
        ProcessRole(
            f"web-{number}",
            lambda ready: web_server.serve_web(config, listener, ready),
            silent_s=WEB_SILENT_S,
        )
        for number in range(1, config.web_processes + 1)
    )


def _roster(config: Config, names: tuple[QueueName, ...]) -> Roster:
    """Return the workers of these queues, as they rest."""
    host = host_name(config)
    counts = {QueueName.CONTROL: CONTROL_WORKERS, QueueName.RUNS: config.run_workers}

    def post(name: QueueName, number: int) -> Post:
        queues = workers.queues_of(name, host)
        eager = queues[:1] if name is QueueName.CONTROL and number > 1 else queues
        return Post(f"{name}-{number}", eager, queues[len(eager) :], PATIENCE_S if number > 1 else 0.0)

    return Roster([post(name, number) for name in names for number in range(1, counts.get(name, 1) + 1)])


def _working(
    config: Config, names: tuple[QueueName, ...], roster: Roster, *, tick: bool
) -> tuple[ProcessRole, ...]:
    """Return the workers, who stands by for them, the ticker where it is wanted, and whoever sends the
    heartbeats of this host.

    A group without workers of runs sends none: other hosts would count on its places.
    """
    beats = QueueName.RUNS in names
    working = (*_workers(config, roster), _standby(config, roster)) if names else ()
    if tick:
        return (*working, _loop("ticker", partial(ticker.run_forever, beats=beats)))
    return (*working, _loop("heartbeat", ticker.beat_forever)) if beats else working


def _standby(config: Config, roster: Roster) -> ProcessRole:
    def run(alive: Ready) -> None:
        roster.stand_by(embedded_redis.connect_redis(config), alive)

    return ProcessRole("standby", run, silent_s=STANDBY_SILENT_S)


def _workers(config: Config, roster: Roster) -> tuple[ProcessRole, ...]:
    host = host_name(config)

    def role(name: str) -> ProcessRole:
        kind, work = QueueName(name.rpartition("-")[0]), CurrentWork()

        def run(ready: Ready) -> None:
            os.nice(WORK_NICE)
            roster.works(name)
            workers.take_over(work, lambda: current().engine)
            with embedded_redis.connect_redis(config) as redis:
                if embedded_redis.is_reachable(redis):  # else there is nothing to take
                    workers.work_queue(
                        embedded_redis.connect_redis(config), kind, ready, host=host, idle_s=IDLE_S
                    )
                roster.rests(redis, name)
            raise SystemExit(RESTS)

        silent_s = workers.SILENT_S.get(kind, math.inf)
        return ProcessRole(name, run, on_demand=True, silent_s=silent_s, on_hang=work.mark_hung)

    return tuple(role(post.name) for post in roster.posts)


def _loop(name: str, loop: Callable[[Services, threading.Event], None]) -> ProcessRole:
    def run(ready: Ready) -> None:
        stop = _Stop(ready)

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            stop.set()

        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
        services = current()
        ready()
        loop(services, stop)

    return ProcessRole(name, run, silent_s=TICKER_SILENT_S)


class _Stop(threading.Event):
    """The stop of a loop, which gives a sign of life whenever it waits."""

    def __init__(self, alive: Ready) -> None:
        super().__init__()
        self._alive, self._due = alive, 0.0

    def wait(self, timeout: float | None = None) -> bool:
        """Give the sign when it is due, then wait."""
        if time.monotonic() >= self._due:
            self._alive()
            self._due = time.monotonic() + ALIVE_S
        return super().wait(timeout)
