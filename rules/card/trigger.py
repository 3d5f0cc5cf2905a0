"""One entry into a column or exit from it, with a key of its own."""

from dataclasses import dataclass
from datetime import datetime, timedelta

# GitHub's clock against ours, and its times have whole seconds.
CLOCKS_APART = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class RuleTrigger:
    """Why actions are carried out. `rule` is their place in the policy, e.g. `Planning/on_entry/0`."""

    rule: str
    by: str
    now: datetime

    @property
    def key(self) -> str:
        """Text for this occasion alone: every event is decided exactly once, at its own time."""
        return f"{self.rule}@{time_stamp(self.now)}"


def was_before(said_at: datetime | None, shown_at: datetime | None, now: datetime) -> bool:
    """Return whether a late message was written before the question that it seems to answer."""
    if said_at is None or shown_at is None or is_to_come(shown_at, now):
        return False
    return said_at < shown_at - CLOCKS_APART


def is_to_come(moment: datetime, now: datetime) -> bool:
    """Return whether a past moment of ours is still ahead: the clock was wrong then, and it tells nothing."""
    return moment > now + CLOCKS_APART


def time_stamp(now: datetime) -> str:
    """Return the moment in microseconds, as text for keys."""
    return str(round(now.timestamp() * 1_000_000))
