"""Heartbeat of a claim: a process that renews the lease while a step of the worker takes its time.

On a busy machine one step can take longer than a lease. The lease stays short, so that another host waits no
longer than for any; the renewing ends with the worker's silence.
"""

import contextlib
import gc
import logging
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from ledger.errors import StaleClaimError
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from runner.exec.deadline import Deadline, Silence, usable_s
from runner.exec.launch import detach, with_parent
from runner.exec.processes import is_stopped

log = logging.getLogger(__name__)

POLL_S = 0.25
_LATE = 0.4  # of a lease that is gone: the worker itself renews after a third of it


class Heartbeat:
    """The heartbeat of a claim: it renews while the worker's `silence` is not over."""

    def __init__(self, deadline: Deadline, ttl_s: float, silence: Silence) -> None:
        self.deadline, self.ttl_s, self.silence = deadline, ttl_s, silence
        self.pid = 0

    @property
    def lives(self) -> bool:
        """Whether its process is there: it may have been killed for want of memory."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    @property
    def is_due(self) -> bool:
        """Whether the worker is late with a renewal, and is still allowed to."""
        late = self.deadline.left_s <= usable_s(self.ttl_s) - self.ttl_s * _LATE
        return late and self.silence.left_s > 0


@contextmanager
def beating(
    engine: Engine, lease: Lease, deadline: Deadline, ttl_s: float, silence: Silence
) -> Iterator[Heartbeat]:
    """Have this process's claim renewed by another, which dies with it, whenever this one is late."""
    heartbeat, worker = Heartbeat(deadline, ttl_s, silence), os.pidfd_open(os.getpid())
    arrange = with_parent()
    try:
        heartbeat.pid = os.fork()
        if not heartbeat.pid:
            arrange()
            _beat(engine, lease, heartbeat, worker)
    finally:
        os.close(worker)
    try:
        yield heartbeat
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(heartbeat.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(heartbeat.pid, 0)


def _beat(engine: Engine, lease: Lease, heartbeat: Heartbeat, worker: int) -> NoReturn:
    try:
        gc.freeze()  # or the collector would touch, and so copy, every page that is shared
        detach((0, 1, 2, worker))
        parent = os.getppid()
        while not select.select([worker], [], [], POLL_S)[0]:
            if heartbeat.is_due and not is_stopped(parent):
                renew_lease(engine, lease, heartbeat)
    except StaleClaimError:
        pass  # another has the run: the worker's next write is refused
    except BaseException:
        log.exception("heartbeat of the claim failed lease=%s", lease.name)
    finally:
        os._exit(0)  # never the parent's finally blocks, exit hooks and buffers


def renew_lease(engine: Engine, lease: Lease, heartbeat: Heartbeat) -> None:
    """Renew the lease and move the deadline as far as is certain. Raises StaleClaimError.

    A ledger that is away is asked again at the next look.
    """
    deadline = heartbeat.deadline
    try:
        with event_store.writing(engine) as db:
            until = deadline.of_lease(heartbeat.ttl_s)
            deadline.shorten(until)
            leases.renew(db, lease, ttl_s=heartbeat.ttl_s)
    except OperationalError as error:
        log.warning("heartbeat of the claim is late lease=%s error=%s", lease.name, type(error).__name__)
    else:
        deadline.move(until)
