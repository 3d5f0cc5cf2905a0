"""The board's status update: how much runs, waits and needs somebody."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.render.markdown.escape import cut, escape_mentions, line
from rules.text import count

MAX_LOST, LONGEST = 10, 400
TOLD_FOR = timedelta(days=1)  # what is over


@dataclass(frozen=True, slots=True)
class Counts:
    """Cards of one board: with a working agent, waiting for a person, queued, and of those that wait the ones
    with a question or a failure; why the board is halted, and how many ready runs no worker takes.
    """

    running: int
    waiting: int
    queued: int
    halted: str = ""
    urgent: int = 0
    stalled: int = 0


def write(counts: Counts, lost: Sequence[str] = (), over: Sequence[str] = ()) -> str:
    """Return the ticker's one line, one for each thing that is out of reach, one for each that is over."""
    halted = f"halted: {line(counts.halted, 200)} · " if counts.halted else ""
    ticker = f"{halted}{counts.running} running · {counts.waiting} waiting on you · {counts.queued} queued"
    stalled = (
        f"⛔ {count(counts.stalled, 'run')} ready to start, but no worker takes them: run `cardinal doctor`"
    )
    alarms = [stalled] if counts.stalled else []
    gone = [f"⛔ {cut(escape_mentions(sentence), LONGEST)}" for sentence in lost[:MAX_LOST]]
    return "\n\n".join([ticker, *alarms, *gone, *over])


def full_disk(since: datetime, until: datetime, now: datetime) -> tuple[str, ...]:
    """Return the sentence about a disk that was full, for a day after it."""
    if now - until >= TOLD_FOR:
        return ()
    span = f"from {since:%d %b %H:%M} to {until:%d %b %H:%M} UTC"
    return (f"Cardinal's disk was full {span}: deliveries refused in that time are requested again",)


def board_status(counts: Counts, lost: Sequence[str] = ()) -> str:
    """Return GitHub's word for it: OFF_TRACK while nothing starts, AT_RISK while a question or a failure
    waits, INACTIVE when nothing runs.
    """
    if counts.halted or counts.stalled:
        return "OFF_TRACK"
    if counts.urgent or lost:
        return "AT_RISK"
    return "ON_TRACK" if counts.running or counts.queued else "INACTIVE"
