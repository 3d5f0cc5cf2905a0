"""Which Redis or Valkey answers, and which known security fixes it lacks by its number."""

import re
from dataclasses import dataclass

from redis import Redis

Version = tuple[int, int, int]
# What is compiled, or in Redis' own images (in /data), and no distribution's package. Started without a path,
# Redis tells a file in its working folder: that tells nothing.
_RELEASES = ("/usr/local/", "/opt/", "/data/")


@dataclass(frozen=True, slots=True)
class SecurityFix:
    """A fault that a user of the server can exploit, and the first release of each series without it."""

    name: str
    source: str
    redis: tuple[Version, ...]
    valkey: tuple[Version, ...] = ()


FIXES = (
    SecurityFix(
        "CVE-2025-49844",  # also of Valkey: github.com/valkey-io/valkey/releases/tag/8.1.4, and its siblings
        "https://nvd.nist.gov/vuln/detail/CVE-2025-49844",
        redis=((6, 2, 20), (7, 2, 11), (7, 4, 6), (8, 0, 4), (8, 2, 2)),
        valkey=((7, 2, 11), (8, 0, 6), (8, 1, 4)),
    ),
    SecurityFix(
        "CVE-2024-31228",
        "https://nvd.nist.gov/vuln/detail/CVE-2024-31228",
        redis=((6, 2, 16), (7, 2, 6), (7, 4, 1)),
    ),
)


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A server in its own words. `executable` is empty where it does not say."""

    product: str
    version: str
    executable: str

    @property
    def is_of_distribution(self) -> bool:
        """Whether it may have fixes that its number does not show."""
        return not self.executable.startswith(_RELEASES)

    def missing_fixes(self) -> tuple[SecurityFix, ...]:
        """Return the fixes that a release of this number lacks; a series without a fixed one lacks them."""
        match = re.match(r"(\d+)\.(\d+)\.(\d+)", self.version)
        if match is None:
            return ()
        version = (int(match[1]), int(match[2]), int(match[3]))
        known = ((fix, fix.valkey if self.product == "Valkey" else fix.redis) for fix in FIXES)
        return tuple(fix for fix, releases in known if _is_older(version, releases))


def read_server(client: Redis) -> RedisServer:
    """Ask the server for its version. Raises RedisError, also where this user may not ask."""
    fields = {name: str(value) for name, value in client.info("server").items()}
    valkey = fields.get(
        "valkey_version"
    )  # its `redis_version` is that of the Redis with which it is compatible
    return RedisServer(
        "Valkey" if valkey else "Redis",
        valkey or fields.get("redis_version", "of no version"),
        fields.get("executable", ""),
    )


def _is_older(version: Version, releases: tuple[Version, ...]) -> bool:
    """Return whether a version is older than the fixed release of its series, or its series has none."""
    of_series = [release for release in releases if release[:2] == version[:2]]
    return version < (of_series[0] if of_series else max(releases, default=version))
