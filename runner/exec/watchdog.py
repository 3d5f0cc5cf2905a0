"""Watchdog of a worker: a process that ends all of a run whose worker hangs, or could not renew its lease.

It is no thread: a thread stands still with a worker that is stopped, swapped out or inside of a C call that
keeps the interpreter's lock. It reads deadline and silence from shared memory: neither ledger nor network
decides.
"""

import contextlib
import gc
import logging
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from runner.errors import KilledError, RunnerError
from runner.exec.deadline import Deadline, Silence
from runner.exec.launch import detach
from runner.exec.processes import is_stopped, process_table

log = logging.getLogger(__name__)

POLL_S = 0.25  # between two looks at the clock: a wait stands still while the machine sleeps
LATE_S = 1.0  # that a look may be late; where it is later, the machine had no time for the worker either
TRY_S = 1.0  # between two tries to end containers
MAX_TRIES_S = 60.0  # for an engine that does not answer; afterwards the sweep of containers has the rest
_ROUNDS = 20  # of looks for processes that were born while others were killed


class Watchdog:
    """The watchdog of this process.

    `deadline` is moved by whoever renews the lease; the worker signs its `silence`.
    """

    def __init__(self, deadline: Deadline, silence: Silence, pid: int) -> None:
        self.deadline, self.silence, self.pid = deadline, silence, pid
        self._pidfd = os.pidfd_open(pid)

    def require(self) -> None:
        """Raise KilledError when it is gone: who is not watched must not work."""
        if select.select([self._pidfd], [], [], 0)[0]:
            raise KilledError("the watchdog of the run")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self._pidfd)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a watchdog besides killing; each may raise RunnerError, and is tried again then.

    `end_containers` ends those of an engine; it is called when the worker dies in another way, too.
    `record_hang` has the ledger know of a worker that hung, and gets the seconds of its silence.
    """

    end_containers: Callable[[], None] = lambda: None
    record_hang: Callable[[float], None] = lambda _silent_s: None


@contextmanager
def start_watchdog(what: str, deadline: Deadline, silence: Silence, steps: Steps) -> Iterator[Watchdog]:
    """Have this process watched: past the deadline, or once it hangs, it is killed with all that it started.

    It is not spared itself: a worker that was stopped would go on where it stood, and push. `what` names the
    run in the log.
    """
    worker = os.getpid()
    pidfd = os.pidfd_open(worker)
    try:
        pid = os.fork()
        if not pid:
            _watch(what, deadline, silence, steps, worker, pidfd=pidfd)
    finally:
        os.close(pidfd)
    watchdog = Watchdog(deadline, silence, pid)
    try:
        yield watchdog
    finally:
        watchdog.close()


def _watch(
    what: str, deadline: Deadline, silence: Silence, steps: Steps, worker: int, *, pidfd: int
) -> NoReturn:
    try:
        gc.freeze()  # or the collector would touch, and so copy, every page that is shared
        detach((0, 1, 2, pidfd))
        if _hangs(deadline, silence, worker, pidfd):
            silent_s = silence.lasts_s
            log.error("run ended by its watchdog %s reason=hung silent_s=%.0f", what, silent_s)
            record = partial(steps.record_hang, silent_s)
            recorded = _try(what, record)  # before anybody can see that the worker is dead
            _end(worker, pidfd)
            if not recorded:  # the worker may have kept the ledger from everybody
                _insist(what, record)
        elif deadline.left_s <= 0:
            log.error("run ended by its watchdog %s reason=lease_not_renewed", what)
            _end(worker, pidfd)
        _insist(what, steps.end_containers)
    except BaseException:
        log.exception("watchdog failed %s", what)
    finally:
        os._exit(0)  # never the parent's finally blocks, exit hooks and buffers


def _hangs(deadline: Deadline, silence: Silence, worker: int, pidfd: int) -> bool:
    """Return once the worker is dead or its deadline over, or else hangs; tell whether it hangs."""
    looked = time.monotonic()
    while (left_s := deadline.left_s) > 0:
        if select.select([pidfd], [], [], min(left_s, POLL_S))[0]:
            return False
        before, looked = looked, time.monotonic()
        if looked - before > LATE_S:
            silence.put_off(looked - before)
        if silence.left_s <= 0:
            if not is_stopped(worker):
                return True
            silence.allow()  # somebody stopped it, and may let it go on
    return False


def _end(worker: int, pidfd: int) -> None:
    """Kill the worker, then its descendants and the sessions that they began.

    The worker first: it could start something else meanwhile. The kernel kills the worker's own children.
    """
    family = _family(worker) - {os.getpid()}
    sessions = {session for pid, (_, session) in process_table().items() if pid in family}
    sessions.discard(os.getsid(worker))
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    for _ in range(_ROUNDS):
        for pid in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        family = {pid for pid, (_, session) in process_table().items() if session in sessions}
        if not family:
            return


def _family(worker: int) -> set[int]:
    parents = {pid: parent for pid, (parent, _) in process_table().items()}
    family, fresh = set[int](), {worker}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - family
        family |= fresh
    return family


def _try(what: str, step: Callable[[], None]) -> bool:
    try:
        step()
    except RunnerError as error:
        log.warning("watchdog tries again %s reason=%s", what, error)
        return False
    return True


def _insist(what: str, step: Callable[[], None]) -> None:
    until = time.monotonic() + MAX_TRIES_S
    while not _try(what, step) and time.monotonic() <= until:
        time.sleep(TRY_S)
