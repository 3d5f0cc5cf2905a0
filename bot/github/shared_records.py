"""Small records that processes share: files of one home, or keys in the Redis of several hosts.

A lost record costs precision or a repeated call, never the truth. The time is the keeper's: no host's clock
decides over another's calls.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from redis import Redis
from redis.exceptions import RedisError

from bot.github.errors import UnavailableError
from bot.system import private_file, redis
from bot.system.clock import Clock
from bot.system.config import Config

PREFIX = "cardinal:shared:"
KEPT_S = 24 * 3600  # an unused record in Redis is forgotten
MAX_TRIES = 200  # of one change; each failed one means that another process's succeeded
# record, what it was, what it becomes, seconds: whether it was that, and has become it
_SWAP = """
if (redis.call('get', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2], 'ex', ARGV[3])
return 1
"""

Result = TypeVar("Result")
Update = Callable[[bytes, float], tuple[bytes, Result]]  # record, Unix time -> new record, result


class SharedRecords(Protocol):
    """Records by name; one that does not exist is empty. `forgets`: it may have existed a moment ago."""

    forgets: ClassVar[bool]

    def read(self, name: str) -> tuple[bytes, float]:
        """Return the record and the Unix time."""
        return self.change(name, lambda record, now_s: (record, (record, now_s)))

    def change(self, name: str, update: Update[Result]) -> Result:
        """Replace the record with the one that `update` returns, and return its result.

        Atomic among all processes; `update` may be called several times and must have no other effect.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileRecords(SharedRecords):
    """Records of one host, in a private folder."""

    folder: Path
    clock: Clock
    forgets: ClassVar[bool] = False

    def read(self, name: str) -> tuple[bytes, float]:
        """See SharedRecords; makes no file."""
        if not self._path(name).exists():
            return b"", self.clock().timestamp()
        return SharedRecords.read(self, name)

    def change(self, name: str, update: Update[Result]) -> Result:
        """See SharedRecords."""
        with os.fdopen(private_file.open_or_make(self._path(name)), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            old = file.read()
            new, result = update(old, self.clock().timestamp())
            if new != old:
                file.seek(0)
                file.write(new)
                file.truncate()
            return result

    def _path(self, name: str) -> Path:
        return _file_of(self.folder, name)


@lru_cache(maxsize=1000)
def _file_of(folder: Path, name: str) -> Path:
    return folder / hashlib.sha256(name.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class RedisRecords(SharedRecords):
    """Records of all hosts that share a Redis. Raises UnavailableError while it does not answer."""

    client: Redis
    forgets: ClassVar[bool] = True

    def change(self, name: str, update: Update[Result]) -> Result:
        """See SharedRecords."""
        key = PREFIX + name
        try:
            for _ in range(MAX_TRIES):
                with self.client.pipeline(transaction=False) as pipe:
                    pipe.get(key)
                    pipe.time()
                    old, (seconds, micros) = pipe.execute()
                new, result = update(old or b"", seconds + micros / 1e6)
                if new == (old or b"") or self.client.eval(_SWAP, 1, key, old or b"", new, str(KEPT_S)):
                    return result
        except RedisError as error:
            because = (
                f"the Redis of CARDINAL_REDIS_URL does not answer ({type(error).__name__}): start it again"
            )
            raise UnavailableError("GitHub's shared budget", 0, because) from error
        raise UnavailableError("GitHub's shared budget", 0, f"{MAX_TRIES} changes were overtaken: try later")


def open_records(config: Config, clock: Clock) -> SharedRecords:
    """Return the records of all hosts where they share a Redis, else of this home."""
    if config.redis_url is not None:
        return RedisRecords(redis.connect_redis(config))
    return home_records(config, clock)


def home_records(config: Config, clock: Clock) -> FileRecords:
    """Return the records of this home alone."""
    return FileRecords(config.home / "run" / "shared", clock)
