"""Names of a worker's current work, in memory that outlives the worker.

The process that kills a hanging worker marks them; the worker that replaces it finds them.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap

BYTES = 16_384
_HEAD = struct.Struct("=?i")


class CurrentWork:
    """The names for one worker and for those that replace it: they share the memory by being forked."""

    def __init__(self) -> None:
        self._memory = mmap(-1, BYTES)

    def replace(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Put these names in the place of those that were there, and return them."""
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
        """Return the names of the current work."""
        _, length = _HEAD.unpack(self._memory[: _HEAD.size])
        return tuple(self._memory[_HEAD.size : _HEAD.size + length].decode().splitlines())

    def mark_hung(self) -> None:
        """Note that the worker hangs, and is about to be killed."""
        self._memory[:1] = b"\x01"

    @property
    def hung(self) -> tuple[str, ...]:
        """The names of the work that hung the worker before; empty when it ended otherwise."""
        return self.names() if self._memory[0] else ()


_mine = [CurrentWork()]  # of this process


def keep_in(current: CurrentWork) -> None:
    """Keep the names of this process's work there from now on."""
    _mine[0] = current


# A fork works on what is its own: one that is killed would leave its names with whoever forked it.
os.register_at_fork(after_in_child=lambda: keep_in(CurrentWork()))


def list_work_names() -> tuple[str, ...]:
    """Return the names of this process's current work."""
    return _mine[0].names()


@contextmanager
def working_on(*names: str) -> Iterator[None]:
    """Have these as the names of this process's work meanwhile."""
    current = _mine[0]
    before = current.replace(names)
    try:
        yield
    finally:
        current.replace(before)
