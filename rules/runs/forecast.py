"""Forecast of a day's dollars against their limit: the pace of the day so far, until its end in UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial

KNOWN_AFTER = timedelta(hours=1)  # of a day: before that a pace says little


class Outlook(StrEnum):
    """The fate of the limit."""

    UNKNOWN = "unknown"
    BELOW = "below"
    AHEAD = "ahead"
    RESERVED = "reserved"  # the rest is held by work that runs
    REACHED = "reached"


@dataclass(frozen=True, slots=True)
class Forecast:
    """Dollars of today against a limit; `name` is the column, or empty for the board.

    `reserved_usd` are those that running work holds besides: nothing else may start with them.
    `reached_at` is when the limit will be reached at this pace; only where the outlook is AHEAD.
    `projected_usd` is the day's cost at its end at this pace; None where no pace is known.
    """

    name: str
    spent_usd: float
    reserved_usd: float
    limit_usd: float
    outlook: Outlook
    reached_at: datetime | None = None
    projected_usd: float | None = None


def forecast(
    name: str, spent_usd: float, limit_usd: float, now: datetime, reserved_usd: float = 0.0
) -> Forecast:
    """Return the outlook of today's limit at the pace of the day so far."""
    now = now.astimezone(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    outlook_of = partial(Forecast, name, spent_usd, reserved_usd, limit_usd)
    if spent_usd >= limit_usd:
        return outlook_of(Outlook.REACHED)
    if spent_usd + reserved_usd >= limit_usd:
        return outlook_of(Outlook.RESERVED)
    if not spent_usd:
        return outlook_of(Outlook.BELOW)
    if now - midnight < KNOWN_AFTER:
        return outlook_of(Outlook.UNKNOWN)
    projected_usd = spent_usd * (timedelta(days=1) / (now - midnight))
    if projected_usd <= limit_usd:
        return outlook_of(Outlook.BELOW, projected_usd=projected_usd)
    reached_at = midnight + (now - midnight) * (limit_usd / spent_usd)
    return outlook_of(Outlook.AHEAD, reached_at, projected_usd)
