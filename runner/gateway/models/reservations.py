"""The dollars of a turn, held as reservations: no dollar is promised twice. Pure."""

from dataclasses import dataclass, field

_SLACK_SHARE, _SLACK_USD = 0.10, 0.05


@dataclass(slots=True, eq=False)
class Reservation:
    """What one call under way may cost, in dollars, and what it cost so far."""

    usd: float
    so_far_usd: float = 0.0


@dataclass(slots=True)
class RunBudget:
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
