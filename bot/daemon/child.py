"""One process of a group: its role, a forked child's start in it, and its end."""

import contextlib
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ledger.errors import CardinalError, NewerLedgerError, OutdatedError

OUTDATED = 78  # status of a process that a newer version on its ledger ended; EX_CONFIG of sysexits.h
RESTS = 79  # status of a process that had nothing to do: it starts again when it is asked for
ALIVE_S = 10.0  # between two signs of life of those that are watched
Ready = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """One process of a group. `run` is called in the child, with the function to call once it works.

    One with `silent_s` calls that again and again, and is killed and replaced when so long passes without it:
    somebody stopped it, or it hangs, and `on_hang` is called. A `ground` is started before the others and
    stopped after them. `check` tells from outside whether a role is ready whose `run` becomes another
    program. A role `on_demand` is first started when somebody asks.
    """

    name: str
    run: Callable[[Ready], None]
    ground: bool = False
    check: Callable[[], bool] | None = None
    on_demand: bool = False
    silent_s: float = math.inf
    on_hang: Callable[[], None] = lambda: None


def become(
    role: ProcessRole,
    follow: Callable[[], None],
    ready_fd: int,
    *,
    closing: Iterable[int],
    mask: Iterable[int],
) -> None:
    """Be the role, in the child, and never return."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for kind in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(kind, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.setpgid(0, 0)  # a Ctrl-C in the terminal reaches the group's parent only, which then asks in order
        follow()
        for descriptor in closing:
            os.close(descriptor)

        def ready() -> None:
            os.write(ready_fd, b"1")

        role.run(ready)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except CardinalError as error:
        status = OUTDATED if isinstance(error, OutdatedError | NewerLedgerError) else status
        sys.stderr.write(f"{role.name}: {error}\n")
    except BaseException:  # the top of a process: said, then ended with a status that the parent sees
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # a full disk must not lead back into the parent's code, which would end all its children
            os._exit(status)


def next_dead() -> int | None:
    """Return the pid of a child that died and is not reaped yet."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if ended is None else ended.si_pid


def reap_child(pid: int) -> int:
    """Kill the rest of the dead child's group while its pid is still its own; return its exit status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the usual case: nothing is left
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
