"""The limit of concurrent calls to GitHub on this machine.

GitHub allows a hundred for all of an App's installations together; several machines share them.
Source: docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bot.github.errors import UnavailableError
from bot.system import private_file

MAX_AT_ONCE = 20
LONGEST_WAIT_S = 30.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class CallSlots:
    """Slots for calls, one locked file each: a process that dies frees its slots at once."""

    folder: Path
    most: int = MAX_AT_ONCE
    wait_s: float = LONGEST_WAIT_S

    @contextmanager
    def one(self, call: str) -> Iterator[None]:
        """Hold a slot for one call. Raises UnavailableError if none gets free in time; nothing was sent."""
        private_file.make_folder(self.folder)
        until = time.monotonic() + self.wait_s
        taken = self._take()
        while taken is None:
            if time.monotonic() >= until:
                raise UnavailableError(call, 0, f"{self.most} calls are under way for {self.wait_s:.0f} s")
            time.sleep(POLL_S)
            taken = self._take()
        try:
            yield
        finally:
            os.close(taken)

    def _take(self) -> int | None:
        for n in range(self.most):
            place = os.open(self.folder / str(n), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(BlockingIOError):
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return place
            os.close(place)
        return None
