"""Limits of a turn: dollars reserved by calls, calls a minute, failures of a provider in a row. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from runner.gateway.control.messages import ProviderFailure

_FORBIDDEN = 403
_BAD_KEY = (401, _FORBIDDEN)
_MAY = ", and that it may use the model"
_SLACK_SHARE, _SLACK_USD = 0.10, 0.05


@dataclass(slots=True, eq=False)
class Reservation:
    """Dollars reserved by one call under way, and its cost so far."""

    usd: float
    so_far_usd: float = 0.0


@dataclass(slots=True)
class RunBudget:
    """Dollars left, and reservations of calls under way. `over`: a call was cut, nothing more is spent."""

    granted_usd: float = 0.0
    left_tokens: int | None = None  # None: no limit
    over: bool = False
    _spent_usd: float = 0.0
    _held: set[Reservation] = field(default_factory=set)

    @property
    def left_usd(self) -> float:
        """The rest of the grant after all finished calls."""
        return self.granted_usd - self._spent_usd

    @property
    def held_usd(self) -> float:
        """The dollars reserved by calls under way."""
        return sum(max(reservation.usd, reservation.so_far_usd) for reservation in self._held)

    @property
    def free_usd(self) -> float:
        return 0.0 if self.over or self.out_of_tokens else self.left_usd - self.held_usd

    @property
    def out_of_tokens(self) -> bool:
        """Whether finished calls have used up the tokens."""
        return self.left_tokens is not None and self.left_tokens <= 0

    @property
    def slack_usd(self) -> float:
        """The overrun allowed to one answer: the last call of a turn seldom uses its reservation."""
        return max(self.granted_usd * _SLACK_SHARE, _SLACK_USD)

    @property
    def idle(self) -> bool:
        return not self._held

    def grant(self, usd_left: float) -> None:
        """Reset the dollars left; reservations stay."""
        self.granted_usd, self._spent_usd, self.over = max(0.0, usd_left), 0.0, False

    def hold(self, usd: float) -> Reservation:
        """Reserve `usd` for a call that is about to be sent."""
        reservation = Reservation(usd)
        self._held.add(reservation)
        return reservation

    def is_exceeded(self) -> bool:
        """Whether the calls under way have cost more than is left, slack included."""
        return sum(reservation.so_far_usd for reservation in self._held) > self.left_usd + self.slack_usd

    def close(self) -> None:
        """Spend nothing more until the next grant, since a call was cut.

        Claude Code would ask at once for the whole answer again, in one piece that cannot be cut.
        """
        self.over = True

    def charge(self, held: Reservation, usd: float, tokens: int) -> None:
        """Free the reservation of a finished call that cost `usd`; a second time does nothing."""
        if held in self._held:
            self._held.remove(held)
            self._spent_usd += usd
            if self.left_tokens is not None:
                self.left_tokens -= tokens


@dataclass(slots=True)
class RateLimiter:
    """Limit of events `per_minute`, in a burst at most; `clock` returns monotonic seconds."""

    per_minute: int
    clock: Callable[[], float]
    _left: float = field(init=False)
    _at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at_s = float(self.per_minute), self.clock()

    def allows(self) -> bool:
        """Whether an event may happen now; it is counted if so."""
        now_s = self.clock()
        grown = self._left + (now_s - self._at_s) * self.per_minute / 60
        self._left, self._at_s = min(float(self.per_minute), grown), now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(slots=True)
class FailureStreaks:
    """Counts of failures in a row by provider; after `most` its calls end until `reset`."""

    most: int
    _in_a_row: dict[str, int] = field(default_factory=dict)
    _over: dict[str, str] = field(default_factory=dict)

    def reset(self) -> None:
        """Begin a turn: all providers get another chance."""
        self._in_a_row.clear()
        self._over.clear()

    def count_success(self, provider: str) -> None:
        self._in_a_row[provider] = 0

    def count_failure(self, provider: str, status: int, detail: str, setting: str) -> ProviderFailure:
        """Count a failure and return its event. A refused key, that of `setting`, is final at once."""
        count = self._in_a_row[provider] = self._in_a_row.get(provider, 0) + 1
        if status in _BAD_KEY:
            may = _MAY if status == _FORBIDDEN else ""
            said = f"{provider} refuses the key ({status}): check {setting}{may}, then retry. {detail}"
        elif count >= self.most:
            said = f"{provider} failed {count} times in a row, last: {detail}"
        else:
            return ProviderFailure(provider, status, detail, count, final=False)
        self._over[provider] = said.strip()
        return ProviderFailure(provider, status, said.strip(), count, final=True)

    def over(self, provider: str) -> str:
        """Return why this provider is not asked any more; empty while it is."""
        return self._over.get(provider, "")
