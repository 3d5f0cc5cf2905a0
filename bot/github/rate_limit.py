"""GitHub's limits for the App: calls left in the hour, points a minute, contents a minute and an hour.

GitHub counts per installation: another App, or another owner's board, has figures of its own. All processes
of this home share them in one small file; losing it costs precision only.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.system import private_file

# Source: docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
POINTS_PER_MINUTE = 900
CONTENTS_PER_MINUTE = 80
CONTENTS_PER_HOUR = 500
SOON_S = 120  # a limit met again that soon after a wait: the wait was too short
LONGEST_GUESS_S = 900
MAX_INSTALLATIONS = 10  # in the file; of more, those unused for longest are forgotten
# The share of each allowance that an act may use up, by priority: a question all of it, a ticker 60 %.
SHARES = (1.0, 0.9, 0.75, 0.6)


@dataclass(frozen=True, slots=True)
class Window:
    """One of GitHub's hourly allowances, by the headers of the newest answer; `reset_s` is a Unix time."""

    limit: int
    remaining: int
    reset_s: int


@dataclass(frozen=True, slots=True)
class RateUsage:
    """The known spending; `points` and `contents` are counts by Unix second.

    `strikes` counts the limits in a row whose length GitHub did not tell.
    """

    windows: dict[str, Window] = field(default_factory=dict)
    points: dict[int, int] = field(default_factory=dict)
    contents: dict[int, int] = field(default_factory=dict)
    closed_until_s: float = 0
    strikes: int = 0


_FILE = TypeAdapter(dict[str, RateUsage])  # by installation


@dataclass(frozen=True, slots=True)
class ApiBudget:
    """Counts an installation's spending and tells how long an act should wait.

    `path` None counts this process alone; `installation` is the figures' name in the file.
    """

    clock: Callable[[], datetime]
    path: Path | None = None
    installation: str = ""
    _own: list[RateUsage] = field(default_factory=lambda: [RateUsage()])

    def count(self, headers: Mapping[str, str], *, points: int, creates: bool) -> None:
        """Count one answered call: its price in points and whether it created content that people see."""
        now_s = int(self.clock().timestamp())
        with self._changing() as spent:
            _add(spent.points, now_s, points, keep_s=60)
            _add(spent.contents, now_s, int(creates), keep_s=3600)
            resource = headers.get("x-ratelimit-resource", "core")
            figures = [headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
            if all(figure.isdigit() for figure in figures):
                spent.windows[resource] = Window(*(int(figure) for figure in figures))

    def close(self, for_s: float, *, exact: bool = True) -> None:
        """Allow no call for `for_s` seconds: GitHub reported a limit.

        If the length is a guess (not `exact`), each limit soon after the last one doubles the wait.
        """
        now_s = self.clock().timestamp()
        with self._changing() as spent:
            again = not exact and spent.closed_until_s and now_s < spent.closed_until_s + SOON_S
            strikes = spent.strikes + 1 if again else 0
            until_s = now_s + min(for_s * 2**strikes, max(for_s, LONGEST_GUESS_S))
            self._own[0] = RateUsage(
                spent.windows, spent.points, spent.contents, max(spent.closed_until_s, until_s), strikes
            )

    def shut_s(self) -> float:
        """Return the seconds until any call is allowed again; 0 for now."""
        return max(0.0, self.seen().closed_until_s - self.clock().timestamp())

    def spare(self, priority: int, *, points_per_hour: int | None = None) -> float:
        """Return the seconds that an act of `priority` (0 first, 3 last) should wait; 0 for now.

        `points_per_hour` is the policy's own cap on calls, below GitHub's.
        """
        share = SHARES[min(max(priority, 0), len(SHARES) - 1)]
        now_s = self.clock().timestamp()
        spent = self.seen()
        waits = [
            spent.closed_until_s - now_s,
            _until_below(spent.points, POINTS_PER_MINUTE * share, 60, now_s),
            _until_below(spent.contents, CONTENTS_PER_MINUTE * share, 60, now_s),
            _until_below(spent.contents, CONTENTS_PER_HOUR * share, 3600, now_s),
        ]
        for window in spent.windows.values():
            allowed = min(window.limit, points_per_hour or window.limit)
            if window.limit - window.remaining >= allowed * share:
                waits.append(window.reset_s - now_s)
        return max(0.0, *waits)

    def seen(self) -> RateUsage:
        """Return the installation's spending by all processes of this home; makes no file."""
        if self.path is not None and not self.path.exists():
            return RateUsage()
        with self._changing(write=False) as spent:
            return spent

    @contextmanager
    def _changing(self, *, write: bool = True) -> Iterator[RateUsage]:
        if self.path is None:
            yield self._own[0]
            return
        private_file.make_folder(self.path.parent)
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = _parsed(file.read())
            self._own[0] = known.pop(self.installation, RateUsage())
            yield self._own[0]
            if write:
                newest = [*known.items(), (self.installation, self._own[0])][-MAX_INSTALLATIONS:]
                file.seek(0)
                file.write(_FILE.dump_json(dict(newest)).decode())
                file.truncate()


def _add(counts: dict[int, int], now_s: int, amount: int, *, keep_s: int) -> None:
    for second in [second for second in counts if second <= now_s - keep_s]:
        del counts[second]
    if amount:
        counts[now_s] = counts.get(now_s, 0) + amount


def _until_below(counts: Mapping[int, int], allowed: float, window_s: int, now_s: float) -> float:
    """Return the seconds until the counts of the last `window_s` are below `allowed`."""
    recent = {second: count for second, count in counts.items() if second > now_s - window_s}
    total = sum(recent.values())
    for second in sorted(recent):
        if total < allowed:
            break
        total -= recent[second]
        if total < allowed:
            return second + window_s - now_s
    return 0.0


def until_now(counts: Mapping[int, int], window_s: int, now_s: float) -> int:
    """Return the count of the last `window_s` seconds."""
    return sum(count for second, count in counts.items() if second > now_s - window_s)


def _parsed(text: str) -> dict[str, RateUsage]:
    """Return the spending of each installation; a file torn by a crash counts as empty."""
    try:
        return _FILE.validate_json(text)
    except ValidationError:
        return {}
