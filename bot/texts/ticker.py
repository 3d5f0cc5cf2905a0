"""The board's status update: how much runs, waits and needs somebody."""

from dataclasses import dataclass

from bot.texts.safe import line


@dataclass(frozen=True, slots=True)
class Counts:
    """Cards of one board: with a working agent, waiting for a person, and queued; why it is halted."""

    running: int
    waiting: int
    queued: int
    halted: str = ""


def write(counts: Counts) -> str:
    """Return the ticker's one line."""
    halted = f"halted: {line(counts.halted, 200)} · " if counts.halted else ""
    return f"{halted}{counts.running} running · {counts.waiting} waiting on you · {counts.queued} queued"


def status(counts: Counts) -> str:
    """Return GitHub's word for it: OFF_TRACK while it is halted, AT_RISK while a person is waited for,
    INACTIVE when nothing runs.
    """
    if counts.halted:
        return "OFF_TRACK"
    if counts.waiting:
        return "AT_RISK"
    return "ON_TRACK" if counts.running or counts.queued else "INACTIVE"
