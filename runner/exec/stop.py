"""The stop ladder: ask the agent, close its input, kill its sandbox; each rung waits only so long."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

KILL_S = 5.0


@dataclass(frozen=True, slots=True)
class StopGrace:
    """How long each rung waits for the end: after the interrupt, the closed input, and SIGTERM."""

    ask_s: float = 2.0
    close_s: float = 1.0
    term_s: float = 1.0


DEFAULT_GRACE = StopGrace()


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a child was stopped: the rung that did it (gone, interrupt, close, term, kill) and how long it
    took.
    """

    rung: str
    took_s: float
    exit_code: int


def stop(
    child: subprocess.Popen[bytes],
    *,
    interrupt: bytes | None,
    write: Callable[[bytes], object],
    drain: Callable[[float], None],
    term: Callable[[], None],
    kill: Callable[[], None],
    hurry: bool = False,
    grace: StopGrace = DEFAULT_GRACE,
) -> Stopped:
    """Bring `child` to its end, gently first unless in a `hurry`, and return how.

    `drain(seconds)` reads its output while waiting: a child that blocks on a full pipe cannot obey. `term`
    asks it by SIGTERM; `kill` takes down everything that it started; for a sandbox that is its PID namespace.
    """
    began = time.monotonic()

    def gone(within_s: float) -> bool:
        until = time.monotonic() + within_s
        while child.poll() is None and time.monotonic() < until:
            drain(0.05)
        return child.poll() is not None

    def took(rung: str) -> Stopped:
        return Stopped(rung, time.monotonic() - began, child.returncode)

    if child.poll() is not None:
        return took("gone")
    if not hurry:
        if interrupt is not None and write(interrupt) and gone(grace.ask_s):
            return took("interrupt")
        if child.stdin is not None:
            child.stdin.close()
            if gone(grace.close_s):
                return took("close")
        term()
        if gone(grace.term_s):
            return took("term")
    kill()
    child.wait(timeout=KILL_S)
    return took("kill")
