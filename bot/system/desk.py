"""Desk of a worker: the names of the work at hand, in memory that outlives the worker.

Whoever kills a worker that hangs marks its desk; the worker that comes after it finds the names.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap

BYTES = 16_384
_HEAD = struct.Struct("=?i")


class Desk:
    """The desk of one worker and of those that replace it: they share its memory by being forked."""

    def __init__(self) -> None:
        self._memory = mmap(-1, BYTES)

    def lay(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Put these names there; return those that were there."""
        before = self.names()
        kept = b""
        for name in names:
            more = name.encode() + b"\n"
            if _HEAD.size + len(kept) + len(more) > BYTES:
                break
            kept += more
        self._memory[_HEAD.size : _HEAD.size + len(kept)] = kept
        self._memory[: _HEAD.size] = _HEAD.pack(False, len(kept))
        return before

    def names(self) -> tuple[str, ...]:
        """Return the names of the work at hand."""
        _, length = _HEAD.unpack(self._memory[: _HEAD.size])
        return tuple(self._memory[_HEAD.size : _HEAD.size + length].decode().splitlines())

    def mark_hung(self) -> None:
        """Note that the worker hangs, and is about to be killed."""
        self._memory[:1] = b"\x01"

    @property
    def hung(self) -> tuple[str, ...]:
        """The names of the work that hung the worker before; empty when it ended otherwise."""
        return self.names() if self._memory[0] else ()


_mine = [Desk()]  # of this process


def take_desk(desk: Desk) -> None:
    """Use this desk from now on in this process."""
    _mine[0] = desk


@contextmanager
def at_hand(*names: str) -> Iterator[None]:
    """Have these names on this process's desk meanwhile."""
    desk = _mine[0]
    before = desk.lay(names)
    try:
        yield
    finally:
        desk.lay(before)
