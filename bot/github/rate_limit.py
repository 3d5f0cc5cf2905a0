"""GitHub's limits for the App: calls left in the hour, points a minute, contents a minute and an hour.

GitHub counts per installation: another App, or another owner's board, has figures of its own. All processes
that work for an installation share them; losing them costs precision only.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from pydantic import TypeAdapter, ValidationError

from bot.github.errors import MAX_WAIT_S, UnavailableError
from bot.github.shared_records import Result, SharedRecords

# Source: docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
POINTS_PER_MINUTE = 900
CONTENTS_PER_MINUTE = 80
CONTENTS_PER_HOUR = 500
SOON_S = 120  # a limit met again that soon after a wait: the wait was too short
MAX_GUESS_S = 900
FRESH_SHARE = 0.5  # of a minute that counts as spent where the record of it may have been lost
AWAY_S = 5.0  # an act waits so long for records that do not answer
# The upper bounds of the counts of calls by their seconds; slower ones are counted last.
CALL_BOUNDS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# The share of each allowance that an act may use up, by priority: a question all of it, a ticker 60 %.
SHARES = (1.0, 0.9, 0.75, 0.6)


@dataclass(frozen=True, slots=True)
class Window:
    """One of GitHub's hourly allowances, by the headers of the newest answer; `reset_s` is a Unix time."""

    limit: int
    remaining: int
    reset_s: int


class CallResult(StrEnum):
    """What became of a call of GitHub's API."""

    OK = "ok"
    REFUSED = "refused"
    LIMITED = "limited"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call that was sent: how long it took, and its status; 0 where no answer came."""

    took_s: float
    status: int
    limited: bool = False

    @property
    def result(self) -> CallResult:
        if self.status == 0:
            return CallResult.UNREACHABLE
        if self.limited:
            return CallResult.LIMITED
        if self.status >= 500:
            return CallResult.FAILED
        return CallResult.REFUSED if self.status >= 400 else CallResult.OK


@dataclass(frozen=True, slots=True)
class RateUsage:
    """The known spending; `points` and `contents` are counts by Unix second.

    `strikes` counts the limits in a row whose length GitHub did not tell. `calls` counts those that were sent
    by their result, `took` by the position of their seconds in CALL_BOUNDS_S.
    """

    windows: dict[str, Window] = field(default_factory=dict)
    points: dict[int, int] = field(default_factory=dict)
    contents: dict[int, int] = field(default_factory=dict)
    closed_until_s: float = 0
    strikes: int = 0
    calls: dict[CallResult, int] = field(default_factory=dict)
    took: dict[int, int] = field(default_factory=dict)
    took_s: float = 0


_RECORD = TypeAdapter(RateUsage)


def installation_name(app_id: int, owner: str, github_url: str) -> str:
    """Return the name under which an installation's spending is kept; it takes no call to know it."""
    return f"App {app_id} at {owner.casefold()} of {github_url}"


def app_name(app_id: int, github_url: str) -> str:
    """Return the same for the App itself, which has a limit of its own, whichever owner a call is about."""
    return f"App {app_id} of {github_url}"


@dataclass(frozen=True, slots=True)
class ApiBudget:
    """Spends an installation's budget of calls to GitHub, and tells how long an act should wait."""

    records: SharedRecords
    installation: str

    def take(self, *, points: int, creates: bool, resource: str = "core") -> float:
        """Count a call that is about to be sent, and return 0; or the seconds until it may be, uncounted.

        A call that is counted and then not sent costs its points all the same. Of the hour of `resource` it
        takes one, until an answer tells the true number.
        """

        def take_points(usage: RateUsage, now_s: float) -> tuple[RateUsage, float]:
            wait_s = _wait_s(usage, now_s, SHARES[0], points=points, contents=int(creates))
            hour = usage.windows.get(resource)
            if hour is not None and hour.reset_s > now_s:
                wait_s = max(wait_s, 0.0 if hour.remaining > 0 else hour.reset_s - now_s)
            if wait_s == 0:
                if hour is not None:
                    usage.windows[resource] = replace(hour, remaining=max(0, hour.remaining - 1))
                second = ceil(now_s)  # never forgotten before its window is over
                _add(usage.points, second, points, keep_s=60)
                _add(usage.contents, second, int(creates), keep_s=3600)
            return usage, wait_s

        return self._change(take_points)

    def learn(self, headers: Mapping[str, str], call: SentCall | None = None) -> None:
        """Take over the hourly allowance that an answer tells of; nobody waits longer than for a limit.

        `call` is the one that was answered, to be counted with the others.
        """
        figures = [headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
        known = all(figure.isdecimal() and len(figure) < 20 for figure in figures)
        resource = headers.get("x-ratelimit-resource", "core")

        def learn_call(usage: RateUsage, now_s: float) -> tuple[RateUsage, None]:
            if call is not None:
                bound = bisect_left(CALL_BOUNDS_S, call.took_s)
                usage.calls[call.result] = usage.calls.get(call.result, 0) + 1
                usage.took[bound] = usage.took.get(bound, 0) + 1
                usage = replace(usage, took_s=usage.took_s + call.took_s)
            if known:
                limit, remaining, reset_s = map(int, figures)
                window = Window(limit, remaining, min(reset_s, ceil(now_s + MAX_WAIT_S)))
                usage = replace(usage, windows=_newer(usage.windows, resource, window))
            return usage, None

        if known or call is not None:
            self._change(learn_call)

    def close(self, for_s: float, *, exact: bool = True) -> None:
        """Allow no call for `for_s` seconds: GitHub reported a limit.

        If the length is a guess (not `exact`), each limit soon after the last one doubles the wait.
        """

        def close_until(usage: RateUsage, now_s: float) -> tuple[RateUsage, None]:
            again = not exact and usage.closed_until_s and now_s < usage.closed_until_s + SOON_S
            strikes = min(usage.strikes + 1, 10) if again else 0
            until_s = now_s + min(for_s * 2**strikes, max(for_s, MAX_GUESS_S))
            until_s = max(usage.closed_until_s, until_s)
            return replace(usage, closed_until_s=until_s, strikes=strikes), None

        self._change(close_until)

    def spare(self, priority: int, *, points_per_hour: int | None = None) -> float:
        """Return the seconds that an act of `priority` (0 first, 3 last) should wait; 0 for now.

        `points_per_hour` is the policy's own cap on calls, below GitHub's.
        """
        share = SHARES[min(max(priority, 0), len(SHARES) - 1)]
        try:
            usage, now_s = self.read_usage()
        except UnavailableError:
            return AWAY_S
        waits = [_wait_s(usage, now_s, share, points=1, contents=1)]
        for window in usage.windows.values():
            allowed = min(window.limit, points_per_hour or window.limit)
            if window.limit - window.remaining >= allowed * share:
                waits.append(window.reset_s - now_s)
        return max(0.0, *waits)

    def barred_until_s(self) -> float:
        """Return the Unix time until which no call is let through; 0 where the next one is.

        0 also while the records do not answer: no call is counted then, and no wake-up carried.
        """
        try:
            usage, now_s = self.read_usage()
        except UnavailableError:
            return 0.0
        wait_s = _wait_s(usage, now_s, SHARES[0], points=1, contents=0)
        resets = (hour.reset_s for hour in usage.windows.values() if hour.remaining == 0)
        until_s = max(now_s + wait_s, *resets, usage.closed_until_s)
        return until_s if until_s > now_s else 0.0

    def remaining_closure_s(self) -> float:
        """Return the seconds until a limit that GitHub reported is over; 0 without one."""
        usage, now_s = self.read_usage()
        return max(0.0, usage.closed_until_s - now_s)

    def read_usage(self) -> tuple[RateUsage, float]:
        """Return the installation's spending by all its processes, and the Unix time."""
        record, now_s = self.records.read(self._name)
        return self._parse(record, now_s), now_s

    @property
    def _name(self) -> str:
        return f"budget of {self.installation}"

    def _change(self, change: Callable[[RateUsage, float], tuple[RateUsage, Result]]) -> Result:
        def change_record(record: bytes, now_s: float) -> tuple[bytes, Result]:
            usage, result = change(self._parse(record, now_s), now_s)
            return _RECORD.dump_json(usage), result

        return self.records.change(self._name, change_record)

    def _parse(self, record: bytes, now_s: float) -> RateUsage:
        """Return the spending; a record torn by a crash counts as none.

        One that may have been lost counts as half of a minute's: GitHub's headers tell of the hour alone.
        """
        try:
            return _passed(_RECORD.validate_json(record), now_s)
        except ValidationError:
            if record or not self.records.forgets:
                return RateUsage()
        minute = ceil(now_s)
        points, contents = (int(most * FRESH_SHARE) for most in (POINTS_PER_MINUTE, CONTENTS_PER_MINUTE))
        return RateUsage(points={minute: points}, contents={minute: contents})


def _passed(usage: RateUsage, now_s: float) -> RateUsage:
    """Return the spending without what is later than any process writes: the clock was put back since."""
    now, most_s = ceil(now_s), now_s + MAX_WAIT_S + 1
    return replace(
        usage,
        windows={name: window for name, window in usage.windows.items() if window.reset_s <= most_s},
        points={second: count for second, count in usage.points.items() if second <= now},
        contents={second: count for second, count in usage.contents.items() if second <= now},
        closed_until_s=usage.closed_until_s if usage.closed_until_s <= most_s else 0,
    )


def _newer(windows: Mapping[str, Window], resource: str, window: Window) -> dict[str, Window]:
    """Return the windows with this one, unless an answer that was sent later has been seen."""
    known_window = windows.get(resource, window)
    late = (known_window.reset_s, -known_window.remaining) > (window.reset_s, -window.remaining)
    return {**windows, resource: known_window if late else window}


def _wait_s(usage: RateUsage, now_s: float, share: float, *, points: int, contents: int) -> float:
    """Return the seconds until so much more stays within `share` of the limits per minute and hour."""
    waits = [usage.closed_until_s - now_s]
    waits.append(_until_fits(usage.points, points, POINTS_PER_MINUTE * share, 60, now_s))
    if contents:
        waits.append(_until_fits(usage.contents, contents, CONTENTS_PER_MINUTE * share, 60, now_s))
        waits.append(_until_fits(usage.contents, contents, CONTENTS_PER_HOUR * share, 3600, now_s))
    return max(0.0, *waits)


def _add(counts: dict[int, int], now_s: int, amount: int, *, keep_s: int) -> None:
    for second in [second for second in counts if second <= now_s - keep_s]:
        del counts[second]
    if amount:
        counts[now_s] = counts.get(now_s, 0) + amount


def _until_fits(counts: Mapping[int, int], more: int, allowed: float, window_s: int, now_s: float) -> float:
    """Return the seconds until `more` on top of the counts of the last `window_s` are within `allowed`."""
    recent = {second: count for second, count in counts.items() if second > now_s - window_s}
    total = sum(recent.values()) + more
    for second in sorted(recent):
        if total <= allowed:
            break
        total -= recent[second]
        if total <= allowed:
            return second + window_s - now_s
    return 0.0


def until_now(counts: Mapping[int, int], window_s: int, now_s: float) -> int:
    """Return the count of the last `window_s` seconds."""
    return sum(count for second, count in counts.items() if second > now_s - window_s)
