"""A small memory of answers that may be a little old."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from bot.system.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Timed(Generic[K, V]):
    """Keeps at most `most` answers for `keep_s` seconds each; the oldest goes first."""

    def __init__(self, clock: Clock, *, keep_s: float, most: int) -> None:
        self._clock, self._keep, self._most = clock, timedelta(seconds=keep_s), most
        self._kept: OrderedDict[K, tuple[datetime, V]] = OrderedDict()

    def get(self, key: K, ask: Callable[[], V]) -> V:
        """Return the kept answer, or what `ask` says now; what it raises is not kept."""
        now = self._clock()
        found = self._kept.get(key)
        if found is not None and now < found[0] + self._keep:
            return found[1]
        answer = ask()
        self._kept[key] = (now, answer)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return answer
