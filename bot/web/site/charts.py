"""Charts of the money page: lengths and paths for its template; the figures are next to them, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from bot.state import forecasts
from ledger.queries.stats import DayShare, DayWaits, Stats
from rules.runs.forecast import Forecast
from rules.text import brief, plain, usd

MAX_SERIES = 6  # as many as there are colours; what is left over is the last one's
OTHERS = "others"
WAITED = ("for people", "for a worker", "for agents at work")
GAP = 0.15  # of a day's width
MAX_ABOVE = 3.0  # times the highest day: a limit beyond it would leave no height for the days


@dataclass(frozen=True, slots=True)
class Series:
    """A path in one colour, its name, and its figure in words."""

    path: str
    name: str
    figure: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Series in a box `width` wide and 100 high, which a page stretches; `scale` is the value of its height.

    `mark` is where a limit is drawn from top to bottom, `level` where one is from side to side; `ends` are
    the words below its two ends.
    """

    name: str
    width: int
    series: tuple[Series, ...]
    scale: str = ""
    ends: tuple[str, str] | None = None
    mark: float | None = None
    level: float | None = None


def chart_spending(
    shares: Sequence[DayShare], first: date, last: date, limit: float | None = None
) -> Chart | None:
    """Return the dollars of each day, stacked by agent; None where nothing was spent.

    `limit` is the most that a day may cost by the policies of today.
    """
    agents = _largest(shares)
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    by_day = {day.isoformat(): dict.fromkeys(agents, 0.0) for day in days}
    for share in shares:
        if share.day in by_day and share.usd > 0:
            by_day[share.day][share.agent if share.agent in agents else OTHERS] += share.usd
    highest = max((sum(amounts.values()) for amounts in by_day.values()), default=0.0)
    if highest <= 0:
        return None
    drawn = limit is not None and 0 < limit <= MAX_ABOVE * highest
    height = max(highest, limit or 0.0) if drawn else highest
    paths = _stack_series([tuple(amounts.values()) for amounts in by_day.values()], height)
    series = (
        Series(path, plain(agent) or "none", usd(sum(it[agent] for it in by_day.values())))
        for agent, path in zip(agents, paths, strict=True)
    )
    scale = f"highest day: {usd(highest)}" + (f"; daily limit: {usd(limit)}" if limit else "")
    level = 100 - 100 * limit / height if limit is not None and drawn else None
    return Chart("Dollars by day", len(days), tuple(series), scale, _ends(days), level=level)


def waits_by_day(waits: Sequence[DayWaits], first: date, last: date) -> Chart | None:
    """Return how long cards waited on each day, stacked by whom they waited for; None where none did."""
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    known = {it.day: it[1:] for it in waits}
    amounts = [known.get(day.isoformat(), (0.0,) * len(WAITED)) for day in days]
    highest = max(map(sum, amounts))
    if highest <= 0:
        return None
    totals = map(sum, zip(*amounts, strict=True))
    series = (
        Series(path, name, duration(total))
        for path, name, total in zip(_stack_series(amounts, highest), WAITED, totals, strict=True)
    )
    scale = f"highest day: {duration(highest)}, all cards together"
    return Chart("Waiting time by day", len(days), tuple(series), scale, _ends(days))


def sparkline(shares: Sequence[DayShare], first: date, last: date) -> str:
    """Return the points of a line over the days, of dollars, in a box of 100 by 20; empty for none."""
    sums: dict[str, float] = {}
    for share in shares:
        sums[share.day] = sums.get(share.day, 0.0) + share.usd
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    amounts = [sums.get(day.isoformat(), 0.0) for day in days]
    highest = max(amounts)
    if highest <= 0 or len(days) < 2:
        return ""
    step = 100 / (len(days) - 1)
    return " ".join(f"{place * step:.4g},{19 - 18 * it / highest:.4g}" for place, it in enumerate(amounts))


def duration(seconds: float) -> str:
    """Return so many seconds in words."""
    return brief(timedelta(seconds=seconds))


def _ends(days: Sequence[date]) -> tuple[str, str]:
    return f"{days[0]:%d %b}", f"{days[-1]:%d %b}"


def _stack_series(days: Sequence[Sequence[float]], highest: float) -> list[str]:
    """Return a path for each series; `days` has the amounts of the series on each day."""
    paths, below = [list[str]() for _ in days[0]], [0.0] * len(days)
    for place, amounts in enumerate(days):
        for path, amount in zip(paths, amounts, strict=True):
            height = 100 * amount / highest
            if height > 0:
                path.append(_box(place + GAP / 2, 100 - below[place] - height, 1 - GAP, height))
                below[place] += height
    return ["".join(boxes) for boxes in paths]


def chart_waits(figures: Stats) -> Chart | None:
    """Return for whom cards waited; None where none did."""
    waits = dict(zip(WAITED, (figures.people_s, figures.workers_s, figures.agents_s), strict=True))
    if not any(waits.values()):
        return None
    parts = [(seconds, name, duration(seconds)) for name, seconds in waits.items()]
    return _bar("What cards waited for", parts)


def of_limit(board: str, it: Forecast) -> Chart:
    """Return today's spent, reserved and foreseen dollars, against the limit."""
    used = it.spent_usd + it.reserved_usd
    parts = [(it.spent_usd, "spent", usd(it.spent_usd)), (it.reserved_usd, "reserved", usd(it.reserved_usd))]
    if it.projected_usd is not None and it.projected_usd > used:
        parts.append((it.projected_usd - used, "expected by midnight", usd(it.projected_usd)))
    return _bar(f"{plain(board)}: {forecasts.forecast_words(it)}", parts, it.limit_usd)


def _largest(shares: Sequence[DayShare]) -> tuple[str, ...]:
    """Return the agents that cost most, as many as have a colour, and OTHERS for the rest."""
    sums: dict[str, float] = {}
    for share in shares:
        sums[share.agent] = sums.get(share.agent, 0.0) + share.usd
    names = sorted((name for name in sums if sums[name] > 0), key=lambda name: (-sums[name], name))
    return tuple(names) if len(names) <= MAX_SERIES else (*names[: MAX_SERIES - 1], OTHERS)


def _bar(name: str, parts: Sequence[tuple[float, str, str]], limit: float | None = None) -> Chart:
    """Return parts side by side, as wide together as the chart, or as the limit where that is more."""
    total = max(sum(amount for amount, *_ in parts), limit or 0.0) or 1.0
    series, left = [], 0.0
    for amount, label, figure in parts:
        width = 100 * amount / total
        series.append(Series(_box(left, 0, width, 100) if width > 0 else "", label, figure))
        left += width
    return Chart(name, 100, tuple(series), mark=None if limit is None else 100 * limit / total)


def _box(left: float, top: float, width: float, height: float) -> str:
    return f"M{left:.3g} {top:.4g}h{width:.3g}v{height:.4g}h-{width:.3g}z"
