"""Forked children die with their parent: a killed worker leaves nothing behind. Programs: see `launch`."""

import ctypes
import os
import signal
from collections.abc import Callable

_EXPENDABLE = b"800"
_PR_SET_PDEATHSIG = 1  # source: linux/prctl.h


def with_parent(*, expendable: bool = False) -> Callable[[], None]:
    """Return what a forked child calls first so that SIGKILL follows its parent's death.

    An `expendable` child is what the kernel kills first when memory runs out, rather than Cardinal
    (source: proc(5), oom_score_adj). The C library is loaded here, not after the fork, where loading can
    deadlock.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before prctl
            os._exit(1)
        if expendable:
            score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(score, _EXPENDABLE)
            os.close(score)

    return arrange
