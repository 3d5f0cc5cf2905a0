"""The forge's time: never goes back, whatever the machine's clock does."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock


def utc_now() -> datetime:
    return datetime.now(UTC)


class Clock:
    """A source of instants that are never earlier than one already given out."""

    def __init__(self, source: Callable[[], datetime] = utc_now) -> None:
        self._source = source
        self._lock = Lock()
        self._last = source()

    def now(self) -> datetime:
        """Return the time, no earlier than any time returned before."""
        with self._lock:
            self._last = max(self._last, self._source())
            return self._last


def rfc3339(moment: datetime) -> str:
    """Return `moment` as GitHub writes it: UTC, whole seconds, a `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_or_none(moment: datetime | None) -> str | None:
    """Return `moment` as GitHub writes it; `None` stays `None`."""
    return None if moment is None else rfc3339(moment)
