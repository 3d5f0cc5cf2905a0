"""Small records that processes share: files of one home, or keys in the Redis of several hosts.

A lost record costs precision or a repeated call, never the truth. The time is the keeper's: no host's clock
decides over another's calls.
"""

import base64
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from cryptography.fernet import Fernet, InvalidToken
from redis import Redis
from redis.exceptions import RedisError

from bot.github.errors import UnavailableError
from bot.system import private_file, redis
from bot.system.clock import Clock
from bot.system.config import Config
from bot.system.secret import Secret

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


MAX_TEXTS = 200  # of a cache; of more, the oldest are dropped


@dataclass(frozen=True, slots=True)
class TokenCache:
    """Texts by name, in one record of `records`: GitHub's answers. Texts of another `scope` cannot be read.

    They are encrypted with a key derived from the App's private key, which gives access to GitHub anyway. A
    missing or torn record, or one of another App, counts as empty.
    """

    records: SharedRecords
    record: str
    private_key: Secret
    scope: tuple[str, ...]
    _made: list[Fernet] = field(default_factory=list)
    _newest: dict[bytes, dict[str, str]] = field(default_factory=dict)  # the record decrypted last, alone

    def get(self, name: str) -> str | None:
        """Return the text, or None without one."""
        return self._open(self.records.read(self.record)[0]).get(name)

    def put(self, name: str, text: str) -> None:
        """Store the text."""
        self._change({name: text}, without=None)

    def drop(self, text: str) -> None:
        """Remove the text under any name, but no newer text that another process stored."""
        self._change({}, without=text)

    def claim(self, name: str, for_s: float) -> bool:
        """Tell whether this process shall fetch the text of that name: no other one claimed it lately."""

        def claim_name(record: bytes, now_s: float) -> tuple[bytes, bool]:
            known = self._open(record)
            if float(known.get(name, 0)) > now_s:
                return record, False
            return self._seal({**known, name: str(now_s + for_s)}), True

        return self.records.change(self.record, claim_name)

    def _change(self, more: Mapping[str, str], *, without: str | None) -> None:
        def change_record(record: bytes, _now_s: float) -> tuple[bytes, None]:
            known = self._open(record).items()
            kept = {name: text for name, text in known if text != without and name not in more}
            return self._seal({**kept, **more}), None

        self.records.change(self.record, change_record)

    def _seal(self, texts: Mapping[str, str]) -> bytes:
        return self._lock().encrypt(json.dumps(dict(list(texts.items())[-MAX_TEXTS:])).encode())

    def _open(self, sealed: bytes) -> dict[str, str]:
        texts = self._newest.get(sealed)
        if texts is None:
            texts = self._decrypted(sealed)
            self._newest.clear()
            self._newest[sealed] = texts
        return texts

    def _decrypted(self, sealed: bytes) -> dict[str, str]:
        try:
            texts: dict[str, str] = json.loads(self._lock().decrypt(sealed)) if sealed else {}
        except InvalidToken:  # torn by a crash, or another App's
            return {}
        return texts

    def _lock(self) -> Fernet:
        if not self._made:
            material = json.dumps([*self.scope, self.private_key.reveal()]).encode()
            self._made.append(Fernet(base64.urlsafe_b64encode(hashlib.sha256(material).digest())))
        return self._made[0]
