"""How often something may happen: so many times a minute, with the whole minute's worth at once. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class RateLimiter:
    """Counts against `per_minute`; `clock` returns seconds that never go back."""

    per_minute: int
    clock: Callable[[], float]
    _left: float = field(init=False)
    _at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at_s = float(self.per_minute), self.clock()

    def allows(self) -> bool:
        """Whether it may happen now; counted when it may."""
        now_s = self.clock()
        grown = self._left + (now_s - self._at_s) * self.per_minute / 60
        self._left, self._at_s = min(float(self.per_minute), grown), now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True
