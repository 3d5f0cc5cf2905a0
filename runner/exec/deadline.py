"""Deadline of a claim, in memory that its processes share: no clock that can be set decides about it."""

import math
import time
from mmap import mmap

# It goes on while the machine sleeps, where other hosts' time does, too. CLOCK_MONOTONIC stands still then:
# an agent would work on after a suspension as if no time had passed. Source: clock_gettime(2).
COUNTS_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
KILL_S = 3.0  # at most, of the lease's length: for the end of processes and containers
_SHARE = 5  # of a short lease a fifth


def usable_s(ttl_s: float) -> float:
    """Return the seconds of a lease for work; the rest is for the killing."""
    return ttl_s - min(KILL_S, ttl_s / _SHARE)


class Deadline:
    """The moment at which all of a claim must end; none at first. Forks of this process see it move.

    With `counts_sleep` off, time stands still while the machine sleeps: right where the ledger is a file on
    this machine and sleeps as well.
    """

    def __init__(self, *, counts_sleep: bool = True) -> None:
        self._clock = COUNTS_SLEEP if counts_sleep else time.CLOCK_MONOTONIC
        self._until = memoryview(mmap(-1, 8)).cast("d")  # anonymous and shared; eight bytes move at once
        self._until[0] = math.inf

    @property
    def left_s(self) -> float:
        """The seconds that are left; negative once it has passed."""
        return self._until[0] - time.clock_gettime(self._clock)

    def of_lease(self, ttl_s: float) -> float:
        """Return the deadline of a lease that is renewed from now on for `ttl_s` seconds.

        It is earlier by the time that killing takes: the lease may be another's when its time is over.
        """
        return time.clock_gettime(self._clock) + usable_s(ttl_s)

    def move(self, until: float) -> None:
        """Set the deadline: after a renewal that is known to be committed."""
        self._until[0] = until

    def shorten(self, until: float) -> None:
        """Set an earlier deadline: before a renewal is sent, since its answer may never come."""
        self._until[0] = min(self._until[0], until)
