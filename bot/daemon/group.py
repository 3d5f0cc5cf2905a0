"""Process group: children are forked here, started again when they die, stopped together."""

import gc
import math
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

from bot.daemon.child import OUTDATED, RESTS, ProcessRole, become, next_dead, reap_child
from ledger.errors import CardinalError
from runner.exec.launch import with_parent
from runner.exec.processes import is_stopped

if TYPE_CHECKING:
    from socket import socket

GROUND_READY_S = 60.0
STOP_S = 8.0  # between SIGTERM and SIGKILL
STOP_GROUND_S = 1.5
FIRST_WAIT_S, MAX_WAIT_S = 0.2, 10.0
LATE_S = 1.0  # that this process may be late without having been stopped
SETTLED_S = 30.0  # who lives this long starts again without a wait
POLL_S = 0.02
MAX_VISITS = 16  # at once
SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)


@dataclass(slots=True)
class _Child:
    """A role's process now: `pid` 0 while it waits for its next start; `requested` while it ended."""

    role: ProcessRole
    pid: int = 0
    ready_fd: int = -1
    ready: bool = False
    alive_at: float = 0.0  # when it gave its last sign of life
    failures: int = 0
    started: float = 0.0
    due: float = 0.0
    requested: bool = False


class NotReadyError(CardinalError):
    """A ground, which the other roles need, did not come up."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name} did not become ready within {GROUND_READY_S:.0f} s: see the log in the home's logs"
        )


class OutdatedGroupError(CardinalError):
    """A newer version of Cardinal took the ledger over, so that this group cannot go on."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name} ended: Cardinal of this host is older than the ledger; upgrade it, then start it again"
        )


@dataclass(slots=True)
class ProcessGroup:
    """Runs the roles until a stop. `say` prints a line; `changed` gets the pids when they change.

    From `requests`, a descriptor, come the names of roles that rest and are needed now. Each connection to
    `visitors` is for a child of its own, which calls `receive` and ends.
    """

    roles: Sequence[ProcessRole]
    say: Callable[[str], None]
    changed: Callable[[Mapping[str, int]], None] = lambda _pids: None
    requests: int = -1
    visitors: "socket | None" = None
    receive: Callable[["socket"], None] = lambda _connection: None
    _children: list[_Child] = field(default_factory=list)
    _visits: set[int] = field(default_factory=set)
    _stops: int = 0  # signals that asked for a stop
    _outdated: str = ""  # the child that a newer version ended
    _pipe: tuple[int, int] = (-1, -1)
    _looked_at: float = 0.0  # at the children's signs of life

    def run(self) -> None:
        """Start everything; return after SIGTERM or SIGINT, when every process is gone.

        Raises NotReadyError when a ground does not come up, OutdatedGroupError when the ledger is taken over.
        """
        self._children = [_Child(role, due=math.inf if role.on_demand else 0.0) for role in self.roles]
        before = self._catch_signals()
        try:
            gc.collect()
            gc.freeze()  # so that collections in the children do not copy what they share
            self._start_grounds()
            while not self._stops:
                self._start_due(self._children)
                self._wait(self._pause_s())
                self._reap()
                self._check_ready()
                self._kill_silent()
        finally:
            self._stops = max(1, self._stops)
            self._stop([child for child in self._children if not child.role.ground], STOP_S)
            self._stop([child for child in self._children if child.role.ground], STOP_GROUND_S)
            gc.unfreeze()
            self._restore_signals(before)
        if self._outdated:
            raise OutdatedGroupError(self._outdated)

    # --- waiting for signals and children --------------------------------------------------------------

    def _catch_signals(self) -> dict[int, object]:
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        return {kind: signal.signal(kind, self._count_signal) for kind in SIGNALS}

    def _restore_signals(self, before: dict[int, object]) -> None:
        signal.set_wakeup_fd(-1)
        for kind, action in before.items():
            signal.signal(kind, action)  # type: ignore[arg-type]  # what signal.signal returned
        for end in self._pipe:
            os.close(end)

    def _count_signal(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stops += 1

    def _wait(self, most_s: float | None) -> None:
        """Return after a signal, a word of a child, or `most_s` seconds."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe[0], selectors.EVENT_READ)
            if self.visitors is not None and len(self._visits) < MAX_VISITS:
                selector.register(self.visitors, selectors.EVENT_READ)
            if self.requests >= 0:
                selector.register(self.requests, selectors.EVENT_READ)
            for child in self._children:
                if child.ready_fd >= 0:
                    selector.register(child.ready_fd, selectors.EVENT_READ)
            readable = {key.fd for key, _ in selector.select(most_s)}
        if self._pipe[0] in readable:
            os.read(self._pipe[0], 4096)
        if self.visitors is not None and self.visitors.fileno() in readable:
            self._receive(self.visitors)
        if self.requests in readable:
            self._start_requested(os.read(self.requests, 4096).decode().split())
        self._hear_children(readable, most_s)

    def _hear_children(self, readable: Collection[int], most_s: float | None) -> None:
        """Note signs of life. Where the last look is longer ago than this process meant to wait, it was
        stopped itself, wherever it was, and with it maybe all: each has its time again.
        """
        now = time.monotonic()
        late = most_s is not None and now - self._looked_at > most_s + LATE_S
        self._looked_at = now
        for child in self._children:
            if child.ready_fd in readable:
                if not os.read(child.ready_fd, 4096):
                    _close_ready(child)
                    continue
                child.alive_at = now
                if not child.ready:
                    child.ready = True
                    self.say(f"{child.role.name} ready pid={child.pid}")
            if late:
                child.alive_at = now

    def _start_requested(self, names: Collection[str]) -> None:
        """Have the roles started that are requested; one that works still starts again once it rests."""
        for child in self._children:
            if child.role.on_demand and child.role.name in names:
                child.requested = True
                child.due = time.monotonic() if math.isinf(child.due) else child.due

    def _pause_s(self) -> float | None:
        if any(child.pid and not child.ready and child.role.check for child in self._children):
            return POLL_S
        times = [_silent_at(child) if child.pid else child.due for child in self._children]
        due = min(times, default=math.inf)
        return None if math.isinf(due) else max(0.0, due - time.monotonic())

    def _kill_silent(self) -> None:
        """Kill those that give no sign of life any more; they start again as all do that die."""
        for child in self._children:
            if child.pid and _silent_at(child) <= self._looked_at:
                silent = f"gave no sign of life for {child.role.silent_s:.0f} s"
                self.say(f"{child.role.name} {silent}: it is killed")
                if not is_stopped(child.pid):
                    child.role.on_hang()
                os.kill(child.pid, signal.SIGKILL)
                child.alive_at = math.inf  # once

    def _check_ready(self) -> None:
        for child in self._children:
            if child.pid and not child.ready and child.role.check is not None and child.role.check():
                child.ready = True
                self.say(f"{child.role.name} ready pid={child.pid}")

    # --- starting and reaping --------------------------------------------------------------------------

    def _start_grounds(self) -> None:
        grounds = [child for child in self._children if child.role.ground]
        self._start_due(grounds)
        until = time.monotonic() + GROUND_READY_S
        while not self._stops and not all(child.ready for child in grounds):
            if time.monotonic() > until:
                raise NotReadyError(next(child.role.name for child in grounds if not child.ready))
            self._wait(POLL_S)
            self._reap()
            self._check_ready()
            self._start_due(grounds)

    def _start_due(self, children: Iterable[_Child]) -> None:
        now = time.monotonic()
        for child in children:
            if not child.pid and child.due <= now:
                self._start(child)

    def _start(self, child: _Child) -> None:
        reading, writing = os.pipe()
        follow = with_parent()
        sys.stdout.flush()
        sys.stderr.flush()
        # Until the child has taken the group's handlers off: a signal that hit it before would be lost.
        was = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        pid = os.fork()
        if pid == 0:
            become(child.role, follow, writing, closing=(reading, *self._pipe), mask=was)
        signal.pthread_sigmask(signal.SIG_SETMASK, was)
        os.close(writing)
        child.pid, child.ready_fd, child.ready, child.started = pid, reading, False, time.monotonic()
        child.requested = False
        self._report()

    def _receive(self, visitors: "socket") -> None:
        """Fork a child for a connection; nobody waits for it."""
        visitors.setblocking(False)
        try:
            connection, _ = visitors.accept()
        except BlockingIOError:  # it has left
            return
        connection.setblocking(True)
        process_role = ProcessRole("visit", lambda _ready: self.receive(connection))
        follow = with_parent()
        was = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        with connection:
            pid = os.fork()
            if pid == 0:
                become(process_role, follow, -1, closing=(*self._pipe, visitors.fileno()), mask=was)
        signal.pthread_sigmask(signal.SIG_SETMASK, was)
        self._visits.add(pid)

    def _reap(self) -> None:
        """Reap every child that died, with all that it left in its own group of processes."""
        while (dead := next_dead()) is not None:
            status = reap_child(dead)
            self._visits.discard(dead)
            for child in self._children:
                if child.pid == dead:
                    self._plan_restart(child, status)

    def _plan_restart(self, child: _Child, status: int) -> None:
        now = time.monotonic()
        rests = status == RESTS
        child.failures = 0 if rests else 1 if now - child.started > SETTLED_S else child.failures + 1
        rest_s = 0.0 if child.requested else math.inf
        wait_s = rest_s if rests else restart_wait_s(child.failures)
        child.pid, child.ready, child.due = 0, False, now + wait_s
        _close_ready(child)
        if status == OUTDATED and not self._stops:
            self._outdated, self._stops = child.role.name, 1
        if not self._stops:
            if not rests:
                self.say(f"{child.role.name} ended status={status}, starts again in {wait_s:.1f} s")
            self._report()

    def _report(self) -> None:
        self.changed({child.role.name: child.pid for child in self._children if child.pid})

    # --- stopping --------------------------------------------------------------------------------------

    def _stop(self, children: list[_Child], within_s: float) -> None:
        """Ask, wait, then kill; a second Ctrl-C kills at once."""
        stops = self._stops
        for child in children:
            if child.pid:
                os.kill(child.pid, signal.SIGTERM)
        until = time.monotonic() + within_s
        while any(child.pid for child in children):
            left_s = until - time.monotonic()
            if left_s <= 0 or self._stops > stops:
                for child in children:
                    if child.pid:
                        os.kill(child.pid, signal.SIGKILL)
                until = time.monotonic() + within_s
                stops = self._stops
            self._wait(max(0.0, min(left_s, 1.0)))
            self._reap()


def restart_wait_s(failures: int) -> float:
    """Return the seconds before a child that failed so often in a row starts again."""
    return min(MAX_WAIT_S, FIRST_WAIT_S * float(2 ** min(failures - 1, 10)))


def _silent_at(child: _Child) -> float:
    """Return when the silence of a child that works is too long."""
    return child.alive_at + child.role.silent_s if child.ready else math.inf


def _close_ready(child: _Child) -> None:
    if child.ready_fd >= 0:
        os.close(child.ready_fd)
        child.ready_fd = -1
