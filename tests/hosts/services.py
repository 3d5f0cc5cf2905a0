"""What the hosts of a site share: PostgreSQL, Redis and a store, each of its own and in its network."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import redis
import requests

from bot.system import redis as embedded_redis
from tests.conftest import TESTS
from tests.hosts import network
from tests.hosts.host import Living, descendants, lives
from tests.waiting import until

DATABASE_URL = f"postgresql+psycopg://cardinal@{network.DATABASE}/postgres"
REDIS_URL = f"redis://{network.REDIS}:6379/0"
DATA = Path("/mnt/pg")  # in the memory of the story's own mount namespace
READY_S = 180.0
# PostgreSQL refuses to run as root.
_AS_POSTGRES = ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups")
STORE_PORT = 9000
STORE_URL = f"http://{network.STORE}:{STORE_PORT}"
_STORE_KEY = "not-a-secret"
SETTINGS = {
    "CARDINAL_DATABASE_URL": DATABASE_URL,
    "CARDINAL_REDIS_URL": REDIS_URL,
    "CARDINAL_STORE": "s3://runs/cardinal",
    "CARDINAL_STORE_URL": STORE_URL,
    "CARDINAL_STORE_REGION": "us-east-1",
    "CARDINAL_STORE_ACCESS_KEY": _STORE_KEY,
    "CARDINAL_STORE_SECRET_KEY": _STORE_KEY,
}


@dataclass(slots=True)
class Service(Living):
    """PostgreSQL, Redis or the store."""

    name: str
    command: tuple[str, ...]
    log: Path
    answers: Callable[[], bool]
    stop_signal: int = 9
    _group: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        if self._group is None:
            with self.log.open("ab") as log:
                self._group = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=TESTS.parent
                )
        group = self._group

        def answers() -> bool:
            assert group.poll() is None, f"{self.name} ended: {self.log.read_text()[-2000:]}"
            return self.answers()

        until(answers, f"{self.name} answers")

    def kill(self) -> None:
        """End it without a word to anybody."""
        if self._group is not None:
            everyone = self.processes()
            self._group.send_signal(self.stop_signal)
            self._group.wait(READY_S)
            self._group = None
            until(lambda: not any(map(lives, everyone)), f"the end of {self.name}")

    def processes(self) -> list[psutil.Process]:
        """Return its processes that live."""
        if self._group is None:
            return []
        return [psutil.Process(self._group.pid), *descendants(self._group.pid)]


@dataclass(frozen=True, slots=True)
class Services:
    """All three."""

    database: Service
    redis: Service
    store: Service


@contextmanager
def running(root: Path) -> Iterator[Services]:
    """Run them until the block ends."""
    with ExitStack() as stack:
        services = Services(postgresql(root), redis_server(root), store(root))
        for service in (services.database, services.redis, services.store):
            stack.callback(service.kill)
            service.start()
        yield services


def postgresql(root: Path) -> Service:
    """Return a new PostgreSQL, which is not running yet."""
    settings = (f"listen_addresses={network.DATABASE}", "fsync=off", "max_connections=200")
    # SIGQUIT: all of it ends at once, and what was not committed is gone, as after a crash.
    service = new_postgresql(DATA, root, *settings, answers=_database_answers, stop_signal=3)
    with (DATA / "db/pg_hba.conf").open("a") as rights:
        rights.write(f"host all all {network.NET}0/24 trust\n")
    return service


def new_postgresql(
    data: Path, root: Path, *settings: str, answers: Callable[[], bool], stop_signal: int
) -> Service:
    """Make a cluster below the new folder `data`, where its socket is, too; it is not running yet."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    data.mkdir(mode=0o700)
    subprocess.run(("chown", "postgres:", str(data)), check=True, timeout=60)
    cluster = data / "db"
    options: tuple[str, ...] = ("-U", "cardinal", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    made = subprocess.run(
        (*_AS_POSTGRES, str(programs / "initdb"), "-D", str(cluster), *options),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    command = (*_AS_POSTGRES, str(programs / "postgres"), "-D", str(cluster), "-k", str(data))
    options = tuple(word for setting in settings for word in ("-c", setting))
    return Service("postgresql", (*command, *options), root / "postgresql.log", answers, stop_signal)


def redis_server(root: Path) -> Service:
    """Return a Redis that keeps nothing, which is not running yet."""
    program = embedded_redis.server_command(root)[0]
    args = ("--bind", network.REDIS, "--protected-mode", "no", "--save", "", "--appendonly", "no")
    return Service("redis", (program, *args), root / "redis.log", _redis_answers)


def store(root: Path) -> Service:
    """Return a store that keeps what it took, which is not running yet."""
    args = (sys.executable, "-m", "tests.hosts.store", network.STORE, str(STORE_PORT), str(root / "store"))
    return Service("store", args, root / "store.log", _store_answers)


def _database_answers() -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(host=network.DATABASE, user="cardinal", dbname="postgres", connect_timeout=2).close()
        return True
    return False


def _store_answers() -> bool:
    with suppress(requests.RequestException):
        return requests.get(f"{STORE_URL}/runs", timeout=2).ok
    return False


def _redis_answers() -> bool:
    with suppress(redis.RedisError), redis.Redis.from_url(REDIS_URL, socket_timeout=2) as client:
        return bool(client.ping())
    return False
