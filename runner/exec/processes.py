"""Processes of this machine, as the kernel lists them."""

import contextlib
import os
from pathlib import Path


def process_table() -> dict[int, tuple[int, int]]:
    """Return parent and session of every living process by pid. Source: proc(5), /proc/PID/stat."""
    processes = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
                state, parent, _, session, *_ = status.rpartition(")")[2].split()
                if state not in ("Z", "X"):
                    processes[int(entry)] = (int(parent), int(session))
    return processes


def is_stopped(pid: int) -> bool:
    """Tell whether the process is in no step at all: somebody stopped it. Source: proc(5), /proc/PID/stat."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[0] in ("T", "t")
    return False
