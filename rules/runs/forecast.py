"""Forecast of a day's dollars against their limit: the pace of the day so far, until its end in UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

KNOWN_AFTER = timedelta(hours=1)  # of a day: before that a pace says little


class Outlook(StrEnum):
    """What becomes of the limit."""

    UNKNOWN = "unknown"
    BELOW = "below"
    AHEAD = "ahead"
    REACHED = "reached"


@dataclass(frozen=True, slots=True)
class Forecast:
    """Dollars of today against a limit; `name` is the column, or empty for the board.

    `reached_at` is when the limit will be reached at this pace; only where the outlook is AHEAD.
    """

    name: str
    spent_usd: float
    limit_usd: float
    outlook: Outlook
    reached_at: datetime | None = None


def forecast(name: str, spent_usd: float, limit_usd: float, now: datetime) -> Forecast:
    """Return what becomes of today's limit at the pace of the day so far."""
    now = now.astimezone(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if spent_usd >= limit_usd:
        return Forecast(name, spent_usd, limit_usd, Outlook.REACHED)
    if not spent_usd:
        return Forecast(name, spent_usd, limit_usd, Outlook.BELOW)
    if now - midnight < KNOWN_AFTER:
        return Forecast(name, spent_usd, limit_usd, Outlook.UNKNOWN)
    reached_at = midnight + (now - midnight) * (limit_usd / spent_usd)
    if reached_at >= midnight + timedelta(days=1):
        return Forecast(name, spent_usd, limit_usd, Outlook.BELOW)
    return Forecast(name, spent_usd, limit_usd, Outlook.AHEAD, reached_at)
