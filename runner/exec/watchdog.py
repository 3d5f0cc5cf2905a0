"""Watchdog of a claim: a process that ends all of a run whose lease was not renewed in time.

It is no thread: a thread stands still with a worker that is stopped, swapped out or inside of a C call that
keeps the interpreter's lock. It reads the deadline from shared memory and asks neither ledger nor network.
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
from typing import NoReturn

from runner.errors import KilledError, RunnerError
from runner.exec.deadline import Deadline
from runner.exec.launch import detach
from runner.exec.processes import process_table

log = logging.getLogger(__name__)

POLL_S = 0.25  # between two looks at the clock: a wait stands still while the machine sleeps
TRY_S = 1.0  # between two tries to end containers
MAX_TRIES_S = 60.0  # for an engine that does not answer; afterwards the sweep of containers has the rest
_ROUNDS = 20  # of looks for processes that were born while others were killed


class Watchdog:
    """The watchdog of this process. `deadline` is moved by whoever renews the lease."""

    def __init__(self, deadline: Deadline, pid: int) -> None:
        self.deadline, self.pid = deadline, pid
        self._pidfd = os.pidfd_open(pid)

    def require(self) -> None:
        """Raise KilledError when it is gone: who is not watched must not work."""
        if select.select([self._pidfd], [], [], 0)[0]:
            raise KilledError("the watchdog of the run")

    def close(self) -> None:
        """End it: nothing is left to watch."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self._pidfd)


@contextmanager
def watched(what: str, deadline: Deadline, end_containers: Callable[[], None]) -> Iterator[Watchdog]:
    """Have this process watched: past the deadline it is killed with all that it started.

    It is not spared itself: a worker that was stopped would go on where it stood, and push. `end_containers`
    ends the containers of an engine; it is called when the process dies in another way, too. It may raise
    RunnerError, and is tried again then. `what` names the run in the log.
    """
    worker = os.getpid()
    pidfd = os.pidfd_open(worker)
    try:
        pid = os.fork()
        if not pid:
            _watch(what, deadline, end_containers, worker, pidfd)
    finally:
        os.close(pidfd)
    watchdog = Watchdog(deadline, pid)
    try:
        yield watchdog
    finally:
        watchdog.close()


def _watch(
    what: str, deadline: Deadline, end_containers: Callable[[], None], worker: int, pidfd: int
) -> NoReturn:
    try:
        gc.freeze()  # or the collector would touch, and so copy, every page that is shared
        detach((0, 1, 2, pidfd))
        while (left_s := deadline.left_s) > 0:
            if select.select([pidfd], [], [], min(left_s, POLL_S))[0]:
                break
        else:
            log.error("run ended by its watchdog %s reason=lease_not_renewed", what)
            _end(worker, pidfd)
        _end_containers(what, end_containers)
    except BaseException:
        log.exception("watchdog failed %s", what)
    finally:
        os._exit(0)  # never the parent's finally blocks, exit hooks and buffers


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
    """Return the pids of all descendants."""
    parents = {pid: parent for pid, (parent, _) in process_table().items()}
    family, fresh = set[int](), {worker}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - family
        family |= fresh
    return family


def _end_containers(what: str, end_containers: Callable[[], None]) -> None:
    until = time.monotonic() + MAX_TRIES_S
    while True:
        try:
            end_containers()
        except RunnerError as error:
            log.warning("containers of the run live on %s reason=%s", what, error)
        else:
            return
        if time.monotonic() > until:
            return
        time.sleep(TRY_S)
