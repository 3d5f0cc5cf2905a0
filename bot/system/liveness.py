"""Liveness of claim holders: dead processes of this machine, and leases that ran out."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from ledger.log import event_store
from ledger.queue import leases, outbox
from ledger.queue.leases import Lease

IN_FLIGHT_S = 5


def name(pid: int) -> str:
    """Return a process's name in its claims: machine, boot, PID namespace, the tick it started at, its pid.

    A pid alone is given again: to another process, or on another machine or in a container of the same name.
    """
    return f"{socket.gethostname()}-{_namespace()}-{_state_and_start(pid)[1]}-{pid}"


def is_dead(holder: str) -> bool:
    """Tell whether `holder` was a process of this machine that is gone; a zombie counts as gone."""
    pid = _pid_here(holder)
    return pid is not None and not _is(holder, pid)


def end_holder(holder: str) -> bool:
    """Kill the process that `holder` names, if it lives on this machine; tell whether it was killed.

    For one that sleeps on its claim: its children, the agent among them, die with it. Never ends the caller.
    """
    pid = _pid_here(holder)
    if pid is None or pid == os.getpid():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(pid)  # from here on the pid cannot become another process's
        try:
            if _is(holder, pid):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False


def _pid_here(holder: str) -> int | None:
    """Return the pid of a holder of this machine; None without /proc, which tells processes apart."""
    rest, _, process = holder.rpartition("-")
    here = rest.rpartition("-")[0]
    mine = bool(_namespace()) and here == f"{socket.gethostname()}-{_namespace()}"
    return int(process) if mine and process.isdigit() else None


def _is(holder: str, pid: int) -> bool:
    """Tell whether the process that has the pid now is the holder, alive."""
    state, start = _state_and_start(pid)
    return state not in ("", "Z", "X") and holder.endswith(f"-{start}-{pid}")


@cache
def _namespace() -> str:
    """Return the ids of this boot and PID namespace, the same after a fork; empty without /proc.

    Every kernel's first namespace has the same number, so that alone tells no machine from another.
    Source: proc_sys_kernel(5), random/boot_id.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot.replace('-', '')}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _state_and_start(pid: int) -> tuple[str, str]:
    """Return a process's state and the clock tick it started at; empty for one that is gone.

    Source: proc(5), fields 3 and 22 of /proc/PID/stat.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    words = status.rpartition(")")[2].split()
    return words[0], words[19]


def expire_dead_holders(engine: Engine) -> int:
    """Let the claims of dead processes run out; return how many did.

    An entry in publication waits a moment longer: its last write may still be on its way to GitHub.
    """
    with event_store.reading(engine) as db:
        held = {*outbox.holders(db), *leases.holders(db)}
    dead = [holder for holder in held if is_dead(holder)]
    if not dead:
        return 0
    with event_store.writing(engine) as db:
        return sum(
            outbox.release_entries(db, holder, IN_FLIGHT_S) + leases.lapse(db, holder) for holder in dead
        )


class LeaseGrace:
    """Memory of when leases were first seen to have run out.

    After a laptop's sleep, or a step of its clock, every lease has run out although its worker lives and
    renews it a moment later. So a lease counts only after `grace_s` of a clock that neither sleeps nor steps.
    """

    def __init__(self, monotonic: Callable[[], float], grace_s: float) -> None:
        self._monotonic, self._grace_s = monotonic, grace_s
        self._since: dict[Lease, float] = {}

    def sure(self, lease: Lease) -> bool:
        """Tell whether the holder of a lease that ran out is gone: known to be dead, or silent for long."""
        if is_dead(lease.holder):
            return True
        now = self._monotonic()
        since = self._since.setdefault(lease, now)
        self._since = {held: began for held, began in self._since.items() if now - began < self._grace_s * 10}
        return now - since >= self._grace_s


class OutageMemory:
    """Memory of when the ledger was last seen away, or answered as late as `late_s`.

    Who holds a lease meanwhile cannot renew it, and is ended for that: no fault of the run.
    """

    def __init__(self, monotonic: Callable[[], float], late_s: float) -> None:
        self._monotonic, self._late_s = monotonic, late_s
        self._seen = float("-inf")

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the reads and writes within."""
        began = self._monotonic()
        try:
            yield
        except OperationalError:
            self._seen = self._monotonic()
            raise
        if self._monotonic() - began >= self._late_s:
            self._seen = self._monotonic()

    def within(self, seconds: float) -> bool:
        """Tell whether that was seen in the last so many seconds."""
        return self._monotonic() - self._seen <= seconds
