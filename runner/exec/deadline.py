"""Deadline of a claim and silence of its worker, in memory that processes share: no clock that can be set
decides about them.
"""

import math
import time
from mmap import mmap

# It goes on while the machine sleeps, where other hosts' time does, too. CLOCK_MONOTONIC stands still then:
# an agent would work on after a suspension as if no time had passed. Source: clock_gettime(2).
COUNTS_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
KILL_S = 3.0  # at most, of the lease's length: for the end of processes and containers
_SHARE = 5  # of a short lease a fifth
SILENT_S = 60.0  # that a worker may be silent unless it said for how long; it hangs after that


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

    def lift(self) -> None:
        """Have no deadline any more: nothing of the claim is at work."""
        self._until[0] = math.inf


class Silence:
    """How long a worker may be silent; past that it hangs. Forks of this process see it sign."""

    def __init__(self, most_s: float = SILENT_S) -> None:
        self._most_s = most_s
        self._times = memoryview(mmap(-1, 16)).cast("d")  # until when it may be silent, and its last sign
        self.allow()

    def allow(self, for_s: float = 0.0) -> None:
        """Let the worker be silent for so long from now on: as long as any step may take, at least."""
        now = time.monotonic()
        self._times[0], self._times[1] = now + max(for_s, self._most_s), now

    def sign(self) -> None:
        """Note that the worker goes on; a longer silence that it announced stays allowed."""
        now = time.monotonic()
        self._times[0], self._times[1] = max(self._times[0], now + self._most_s), now

    def put_off(self, by_s: float) -> None:
        """Allow so much more: the machine had no time for anybody."""
        self._times[0] += by_s

    @property
    def left_s(self) -> float:
        """The seconds that the worker may be silent from now on; negative once it hangs."""
        return self._times[0] - time.monotonic()

    @property
    def lasts_s(self) -> float:
        return time.monotonic() - self._times[1]
