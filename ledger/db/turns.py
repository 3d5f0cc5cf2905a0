"""The queue of SQLite's writers: first come, first served, across processes and threads.

Whoever waits holds a lock on one byte of an open folder, its ticket: the kernel takes it back when the
process ends, however that happens. Nothing but the order hangs on it.
"""

import fcntl
import struct
from typing import Final

_FLOCK: Final = "hhqqi0q"  # struct flock of 64-bit Linux: kind, whence, start, length, process
_ALL: Final = 0  # as a length: to the end, wherever that is


def join(folder: int, *, urgent: bool = False) -> int:
    """Take a ticket behind all who wait, and return it; an `urgent` one directly behind the first of them.

    So an urgent writer waits for two others at most, and a sequence of urgent ones takes every second turn.
    Who comes at the same moment may have the same ticket, and the ledger's own lock decides.
    """
    # Usual ones are even, so that an urgent one fits between any two.
    ticket = _first(folder) | 1 if urgent else (_last(folder) // 2 + 1) * 2
    _call(folder, fcntl.F_OFD_SETLK, fcntl.F_RDLCK, ticket, 1)
    return ticket


def is_first(folder: int, ticket: int) -> bool:
    """Tell whether nobody waits who goes before that ticket."""
    return _ticket_in(folder, 0, ticket) is None


def give_back(folder: int) -> None:
    """Give the ticket back."""
    _call(folder, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, 0, _ALL)


def _first(folder: int) -> int:
    """Return the first ticket of others; 0 when nobody waits."""
    first, ticket = 0, _ticket_in(folder, 0, _ALL)
    while ticket is not None:
        first, ticket = ticket, _ticket_in(folder, 0, ticket)
    return first


def _last(folder: int) -> int:
    """Return the last ticket of others; 0 when nobody waits."""
    last, ticket = 0, _ticket_in(folder, 0, _ALL)
    while ticket is not None:
        last, ticket = ticket, _ticket_in(folder, ticket + 1, _ALL)
    return last


def _ticket_in(folder: int, start: int, length: int) -> int | None:
    """Return a ticket of others in that range: any, for the kernel keeps them in no order."""
    kind, _, ticket, _, _ = _call(folder, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, length)
    return None if kind == fcntl.F_UNLCK else ticket


def _call(folder: int, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
    return struct.unpack(_FLOCK, fcntl.fcntl(folder, command, struct.pack(_FLOCK, kind, 0, start, length, 0)))
