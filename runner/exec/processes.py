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
