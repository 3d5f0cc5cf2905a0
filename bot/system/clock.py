"""Clock: the time of day as an argument, and the one that all hosts of a ledger share."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from ledger.db.clock import database_now
from ledger.db.transactions import reading

Clock = Callable[[], datetime]  # returns the time, aware and in UTC

REREAD_S = 10.0  # between two reads of the database's clock

CLOCK_SLACK = timedelta(minutes=10)  # between GitHub's clock and ours


def utc_now() -> datetime:
    """Return the time in UTC by this machine's clock."""
    return datetime.now(UTC)


class LedgerClock:
    """The time by the database's clock: seen every REREAD_S seconds, and counted on between.

    While the database is away it is counted on from the last reading. It is late by one answer's way.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen, self._seen_at, self._read_at = self._read()

    def __call__(self) -> datetime:
        if time.monotonic() - self._read_at > REREAD_S:
            self._read_at = time.monotonic()
            with suppress(OperationalError):  # whoever needs the database now says so
                self._seen, self._seen_at, self._read_at = self._read()
        return self._seen + timedelta(seconds=time.monotonic() - self._seen_at)

    def _read(self) -> tuple[datetime, float, float]:
        with reading(self._engine) as db:
            now = database_now(db)
            at = time.monotonic()
        return now, at, at


def ledger_clock(engine: Engine, here: Clock = utc_now) -> Clock:
    """Return the clock of this ledger's hosts; a file's is this machine's, `here`."""
    return here if engine.dialect.name == "sqlite" else LedgerClock(engine)


class RunnerClock:
    """The runner's clock: the time by the clock that it is given, and seconds that never go back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self._clock()

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        return time.monotonic()


WALL = RunnerClock(utc_now)
