"""Tests wait for others: until something holds, with a limit that a busy machine keeps."""

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT_S = 180.0  # a write of low priority may wait a whole minute for the rate budget
Seen = TypeVar("Seen")


def until(
    true: Callable[[], Seen | None], what: str, limit_s: float = LIMIT_S, every_s: float = 0.02
) -> Seen:
    """Return the first answer that is true; fails with the last one after `limit_s`."""
    end = time.monotonic() + limit_s
    while not (seen := true()):
        assert time.monotonic() < end, f"not seen within {limit_s:.0f} s: {what}; last: {seen!r:.2000}"
        time.sleep(every_s)
    return seen
