"""A lease that ran out is no proof: the clock may have jumped."""

from datetime import UTC, datetime, timedelta

from bot.system.liveness import LeaseGrace, name
from ledger.queue.leases import Lease

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def lease(until: datetime = NOW, holder: str = "elsewhere-1") -> Lease:
    return Lease("run:r1", holder, 1, until)


def test_a_worker_is_gone_when_it_is_silent_while_no_clock_can_jump() -> None:
    seconds = [100.0]
    grace = LeaseGrace(lambda: seconds[0], grace_s=5)
    assert not grace.sure(lease())
    seconds[0] += 4
    assert not grace.sure(lease())
    seconds[0] += 1
    assert grace.sure(lease())


def test_a_renewal_ends_the_doubt() -> None:
    seconds = [100.0]
    grace = LeaseGrace(lambda: seconds[0], grace_s=5)
    assert not grace.sure(lease())
    seconds[0] += 60
    assert not grace.sure(lease(NOW + timedelta(hours=1)))


def test_a_process_that_is_known_to_be_dead_needs_no_grace() -> None:
    assert LeaseGrace(lambda: 0.0, grace_s=5).sure(lease(holder=name(2**22 + 5)))
