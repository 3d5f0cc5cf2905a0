"""The dollars of a turn, held as reservations: no dollar is promised twice. Pure."""

from dataclasses import dataclass, field

_SLACK_SHARE, _SLACK_USD = 0.10, 0.05


@dataclass(slots=True, eq=False)
class Reservation:
    """What one call under way is expected to cost, in dollars; it grows while the answer comes."""

    usd: float


@dataclass(slots=True)
class Budget:
    """What is left, and what calls under way hold of it."""

    granted_usd: float = 0.0
    _spent_usd: float = 0.0
    _over: bool = False
    _held: set[Reservation] = field(default_factory=set)

    @property
    def left_usd(self) -> float:
        """What is left of the grant after all calls that ended."""
        return self.granted_usd - self._spent_usd

    @property
    def held_usd(self) -> float:
        """What the calls under way are expected to cost."""
        return sum(one.usd for one in self._held)

    @property
    def idle(self) -> bool:
        """Whether no call is under way."""
        return not self._held

    def grant(self, usd_left: float) -> None:
        """Set what is left anew; what calls under way hold stays held."""
        self.granted_usd, self._spent_usd, self._over = max(0.0, usd_left), 0.0, False

    def reserve(self, usd: float, *, sure: bool) -> Reservation | None:
        """Hold `usd` for a call, or return None: nothing is left, or that does not fit. What is not `sure` to
        be spent may go beyond by the slack.
        """
        free = self.left_usd - self.held_usd
        if self._over or free <= 0 or usd > free + (0.0 if sure else self._slack_usd):
            return None
        held = Reservation(usd)
        self._held.add(held)
        return held

    def exceeded(self) -> bool:
        """Whether the calls under way cost more than is left and a little: the estimate is only one."""
        return self.held_usd > self.left_usd + self._slack_usd

    def close(self) -> None:
        """A call was cut: nothing more is spent until the next grant. Claude Code asks at once for the whole
        answer again, in one piece that cannot be cut.
        """
        self._over = True

    @property
    def _slack_usd(self) -> float:
        return max(self.granted_usd * _SLACK_SHARE, _SLACK_USD)

    def settle(self, held: Reservation, usd: float) -> None:
        """A call ended and cost `usd`; what it held is free again. A second time does nothing."""
        if held in self._held:
            self._held.remove(held)
            self._spent_usd += usd
