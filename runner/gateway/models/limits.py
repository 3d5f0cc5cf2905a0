"""The dollars of a turn, held as reservations: no dollar is promised twice. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from runner.gateway.control.messages import ProviderFailed

SETTINGS = {
    "anthropic": "CARDINAL_ANTHROPIC_KEY",
    "openai": "CARDINAL_OPENAI_KEY",
    "compatible": "CARDINAL_COMPATIBLE_KEY",
}
_BAD_KEY = (401, 403)
_SLACK_SHARE, _SLACK_USD = 0.10, 0.05


@dataclass(slots=True, eq=False)
class Reservation:
    """What one call under way may cost, in dollars, and what it cost so far."""

    usd: float
    so_far_usd: float = 0.0


@dataclass(slots=True)
class Budget:
    """What is left, and what calls under way hold of it. `over`: a call was cut, nothing more is spent."""

    granted_usd: float = 0.0
    over: bool = False
    _spent_usd: float = 0.0
    _held: set[Reservation] = field(default_factory=set)

    @property
    def left_usd(self) -> float:
        """What is left of the grant after all calls that ended."""
        return self.granted_usd - self._spent_usd

    @property
    def held_usd(self) -> float:
        """What the calls under way may cost."""
        return sum(max(one.usd, one.so_far_usd) for one in self._held)

    @property
    def free_usd(self) -> float:
        """What no call holds."""
        return 0.0 if self.over else self.left_usd - self.held_usd

    @property
    def slack_usd(self) -> float:
        """By how much one answer may go beyond: the last call of a turn is seldom as long as it may be."""
        return max(self.granted_usd * _SLACK_SHARE, _SLACK_USD)

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return not self._held

    def grant(self, usd_left: float) -> None:
        """Set what is left anew; what calls under way hold stays held."""
        self.granted_usd, self._spent_usd, self.over = max(0.0, usd_left), 0.0, False

    def hold(self, usd: float) -> Reservation:
        """Hold `usd` for a call that is about to be sent."""
        held = Reservation(usd)
        self._held.add(held)
        return held

    def exceeded(self) -> bool:
        """Whether the calls under way cost more by now than is left and a little."""
        return sum(one.so_far_usd for one in self._held) > self.left_usd + self.slack_usd

    def close(self) -> None:
        """A call was cut: nothing more is spent until the next grant. Claude Code asks at once for the whole
        answer again, in one piece that cannot be cut.
        """
        self.over = True

    def settle(self, held: Reservation, usd: float) -> None:
        """A call ended and cost `usd`; what it held is free again. A second time does nothing."""
        if held in self._held:
            self._held.remove(held)
            self._spent_usd += usd


@dataclass(slots=True)
class Pace:
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


@dataclass(slots=True)
class Streaks:
    """Counts failures by provider; after `most` in a row it is over until `reset`."""

    most: int
    _in_a_row: dict[str, int] = field(default_factory=dict)
    _over: dict[str, str] = field(default_factory=dict)

    def reset(self) -> None:
        """A turn begins: all providers get another chance."""
        self._in_a_row.clear()
        self._over.clear()

    def succeeded(self, provider: str) -> None:
        """A call was answered to its end."""
        self._in_a_row[provider] = 0

    def failed(self, provider: str, status: int, detail: str) -> ProviderFailed:
        """Count a failure and return what to tell. A refused key is final at once: no retry mends it."""
        count = self._in_a_row[provider] = self._in_a_row.get(provider, 0) + 1
        if status in _BAD_KEY:
            said = f"{provider} refuses the key ({status}): check {SETTINGS[provider]}, then retry. {detail}"
        elif count >= self.most:
            said = f"{provider} failed {count} times in a row, last: {detail}"
        else:
            return ProviderFailed(provider, status, detail, count, final=False)
        self._over[provider] = said.strip()
        return ProviderFailed(provider, status, said.strip(), count, final=True)

    def over(self, provider: str) -> str:
        """Return why this provider is not asked any more; empty while it is."""
        return self._over.get(provider, "")
