"""The board's status update: how much runs, waits and needs somebody."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """Cards of one board: with a working agent, waiting for a person, and queued."""

    running: int
    waiting: int
    queued: int


def write(counts: Counts) -> str:
    """Return the ticker's one line."""
    return f"{counts.running} running · {counts.waiting} waiting on you · {counts.queued} queued"


def status(counts: Counts) -> str:
    """Return GitHub's word for it: AT_RISK while a person is waited for, INACTIVE when nothing runs."""
    if counts.waiting:
        return "AT_RISK"
    return "ON_TRACK" if counts.running or counts.queued else "INACTIVE"
