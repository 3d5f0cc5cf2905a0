"""A claim outlives a long step of its worker; not the worker, its endless silence, or a take-over."""

import os
import signal
import time
from contextlib import suppress

import psutil
import pytest

from ledger.errors import StaleClaimError
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from runner.exec.deadline import KILL_S, SILENT_S, Deadline, Silence
from runner.run import heartbeat as run_heartbeat
from runner.run.heartbeat import Heartbeat, beating, renew_lease
from runner.run.log import RunLog
from tests.runner.world import RUN, World
from tests.waiting import until

TTL_S = 1.6
POLL_S = 0.05


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_heartbeat, "POLL_S", POLL_S)


def lease_of(world: World) -> Lease:
    world.claim(world.spec(), ttl_s=TTL_S)
    assert world.lease is not None
    return world.lease


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_while_its_worker_is_in_a_long_step_a_short_lease_is_renewed(world: World) -> None:
    lease, deadline = lease_of(world), Deadline()
    with beating(world.engine, lease, deadline, TTL_S, Silence()) as heartbeat:
        log = RunLog(world.engine, RUN, lease, world.clock, ttl_s=TTL_S, heartbeat=heartbeat)
        log.deadline = deadline
        log.hold(600)
        assert deadline.left_s < TTL_S, "another host does not wait for 600 s"
        for _ in range(2):
            until(lambda: deadline.left_s < TTL_S / 2, "the lease gets short")
            until(lambda: deadline.left_s > TTL_S / 2, "it is renewed")
        assert heartbeat.lives
    assert is_gone(heartbeat.pid)


def test_a_worker_that_says_nothing_for_long_is_not_kept_alive() -> None:
    deadline = Deadline()
    deadline.move(deadline.of_lease(KILL_S))  # of a lease of 15 s nearly all is over
    heartbeat = Heartbeat(deadline, 15, Silence(0.05))
    assert heartbeat.is_due
    until(lambda: not heartbeat.is_due, "its silence is too long")
    heartbeat.silence.sign()
    assert heartbeat.is_due
    heartbeat.silence.allow(600)
    heartbeat.silence.sign()
    time.sleep(0.1)
    assert heartbeat.is_due, "a longer silence was announced"
    deadline.move(deadline.of_lease(15))
    assert not heartbeat.is_due, "the worker has just renewed it"


def test_a_silence_that_a_step_announced_ends_with_the_step(world: World) -> None:
    lease, deadline = lease_of(world), Deadline()
    with beating(world.engine, lease, deadline, TTL_S, Silence()) as heartbeat:
        log = RunLog(world.engine, RUN, lease, world.clock, ttl_s=TTL_S, heartbeat=heartbeat)
        log.deadline = deadline
        log.beat()
        renewed_at = log._renewed
        with suppress(KeyError), log.holding(600):
            assert heartbeat.silence.left_s > 500
            raise KeyError
        assert log._renewed == renewed_at, "nothing is written for a step that the heartbeat covers"
        assert heartbeat.silence.left_s <= SILENT_S


def test_a_claim_that_was_taken_over_is_not_renewed(world: World) -> None:
    lease, deadline = lease_of(world), Deadline()
    with event_store.writing(world.engine) as db:
        leases.release(db, lease)
        taken = leases.take(db, lease.name, "another", ttl_s=60)
    with pytest.raises(StaleClaimError):
        renew_lease(world.engine, lease, Heartbeat(deadline, TTL_S, Silence()))
    deadline.move(deadline.of_lease(0))
    with beating(world.engine, lease, deadline, TTL_S, Silence()) as heartbeat:
        until(lambda: not heartbeat.lives, "the heartbeat ends")
    with event_store.reading(world.engine) as db:
        assert taken is not None
        leases.require(db, lease.name, taken.generation)


def test_a_heartbeat_does_nothing_for_a_stopped_worker_and_dies_with_it(world: World) -> None:
    lease, deadline, (there, here) = lease_of(world), Deadline(), os.pipe()
    worker = os.fork()
    if not worker:
        with beating(world.engine, lease, deadline, TTL_S, Silence()) as heartbeat:
            os.write(here, str(heartbeat.pid).encode())
            signal.pause()
    pid = int(os.read(there, 20))
    assert psutil.Process(pid).ppid() == worker
    os.kill(worker, signal.SIGSTOP)
    until(lambda: psutil.Process(worker).status() == psutil.STATUS_STOPPED, "it is stopped")
    time.sleep(POLL_S)  # a look that began before
    deadline.move(deadline.of_lease(0))
    time.sleep(3 * POLL_S)
    assert deadline.left_s <= 0
    os.kill(worker, signal.SIGCONT)
    until(lambda: deadline.left_s > 0, "it is renewed")
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    until(lambda: is_gone(pid), "the heartbeat is gone")
    os.close(there)
    os.close(here)
