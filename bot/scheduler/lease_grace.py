"""Doubts that a worker is gone because its lease ran out: the clock may have jumped instead."""

from collections.abc import Callable

from bot.system import liveness
from ledger.queue.leases import Lease


class LeaseGrace:
    """Remembers since when leases are seen to have run out.

    After a laptop's sleep, or a step of its clock, every lease has run out although its worker lives and
    renews it a moment later. So one must stay so for `grace_s` of a clock that neither sleeps nor steps.
    """

    def __init__(self, monotonic: Callable[[], float], grace_s: float) -> None:
        self._monotonic, self._grace_s = monotonic, grace_s
        self._since: dict[Lease, float] = {}

    def sure(self, lease: Lease) -> bool:
        """Tell whether the holder of a lease that ran out is gone: known to be dead, or silent for long."""
        if liveness.is_dead(lease.holder):
            return True
        now = self._monotonic()
        since = self._since.setdefault(lease, now)
        self._since = {one: began for one, began in self._since.items() if now - began < self._grace_s * 10}
        return now - since >= self._grace_s
