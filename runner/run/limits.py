"""Watchdogs: pure functions of a run's usage and its agent's silence."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from ledger.model.spend_limits import AS_REPORTED, Limit
from ledger.rows.limit_answers import Subject
from runner.run.run_spec import Limits


class ExceededLimit(StrEnum):
    """The watchdog that fires; the first in this order counts."""

    FLOOD = "flood"
    PROVIDER = "provider"  # from the gateway, not from usage
    DISK = "disk"  # from the workspace's measurement
    SILENCE = "silence"
    BUDGET = "budget"
    TIME = "time"
    TURNS = "turns"
    TOKENS = "tokens"


# These park and ask; the others end the run.
ASKS = frozenset({ExceededLimit.BUDGET, ExceededLimit.TIME, ExceededLimit.TURNS, ExceededLimit.TOKENS})
_SHARED = {
    Limit.CARD: "the card's budget",
    Limit.COLUMN: "the column's budget for the day",
    Limit.PERSON: "a person's budget for the day",
    Limit.DAY: "the board's budget for the day",
    Limit.BOARD: "the board's budget",
}
_MAX_USD = 1e6  # that a gateway is believed
_MIN_USD = 0.01  # that a turn needs to end well
_SAME_USD = 1e-6  # sums of floats differ by less


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Usage of the run over all its claims; `silent_s` is the time since the agent's last output.

    `is_reported`: nothing but the agent counted `usd`.
    """

    active_s: float
    silent_s: float
    usd: float
    turns: int
    tokens: int
    output_bytes: int
    is_reported: bool = False


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits, extended by people: `extensions` are renewals, each with its subject and the usage of that
    at the question; `added_usd` are extra dollars.

    `ceiling_usd` is the run's cost at which its reservation is used up, None without one. The policy's limit
    `rule`, of `rule_usd`, made that less than the run's own budget.
    """

    limits: Limits
    extensions: Sequence[tuple[Subject, float]] = ()
    added_usd: float = 0.0
    ceiling_usd: float | None = None
    rule: str = ""
    rule_usd: float = 0.0

    def times(self, subject: Subject) -> int:
        return 1 + sum(extended is subject for extended, _ in self.extensions)

    @property
    def most_s(self) -> float:
        """The limit of the agent's working time in seconds; 0 is no limit."""
        return self._extend(self.limits.timeout_s, Subject.TIME)

    @property
    def most_turns(self) -> int:
        """The limit of turns; 0 is no limit."""
        return int(self._extend(self.limits.max_turns, Subject.TURNS))

    @property
    def most_tokens(self) -> int:
        """The limit of tokens; 0 is no limit."""
        return int(self._extend(self.limits.max_tokens, Subject.TOKENS))

    @property
    def budget_usd(self) -> float:
        """The run's own budget; 0 is none."""
        base_usd = self.limits.budget_usd
        return base_usd * self.times(Subject.BUDGET) + self.added_usd if base_usd > 0 else 0.0

    @property
    def bound_usd(self) -> float:
        """The limit of the run's cost at the moment; 0 is no limit."""
        bounds = [self.budget_usd] if self.budget_usd > 0 else []
        return min(bounds + ([] if self.ceiling_usd is None else [self.ceiling_usd]), default=0.0)

    @property
    def shared(self) -> bool:
        """Whether a limit shared by several runs is reached before the run's own budget."""
        return bool(self.rule) and not 0 < self.budget_usd <= self.bound_usd + _SAME_USD

    def remaining_usd(self, spent_usd: float) -> float:
        """Return the dollars left for a turn, at least one cent."""
        return max(_MIN_USD, (self.bound_usd or self.limits.budget_usd) - spent_usd)

    def remaining_tokens(self, spent_tokens: int) -> int | None:
        """Return the tokens left for a turn; None without a limit."""
        return self.most_tokens - spent_tokens if self.most_tokens > 0 else None

    def find_exceeded(self, usage: RunUsage) -> ExceededLimit | None:
        """Return the first watchdog that fires, or None. A limit of 0 is no limit, except for output."""
        limits = self.limits
        bites = (
            (ExceededLimit.FLOOD, usage.output_bytes > limits.output_bytes),
            (ExceededLimit.SILENCE, 0 < limits.silence_s <= usage.silent_s),
            (ExceededLimit.BUDGET, 0 < self.bound_usd <= usage.usd),
            (ExceededLimit.TIME, 0 < self.most_s <= usage.active_s),
            (ExceededLimit.TURNS, 0 < self.most_turns <= usage.turns),
            (ExceededLimit.TOKENS, 0 < self.most_tokens <= usage.tokens),
        )
        return next((exceeded for exceeded, bitten in bites if bitten), None)

    def describe_reached(self, exceeded: ExceededLimit, usage: RunUsage) -> str:
        """Return the reached limit and the usage, for people."""
        limits = self.limits
        which = {
            ExceededLimit.BUDGET: self._dollars(),
            ExceededLimit.TIME: f"its time of {self.most_s / 60:.0f} min",
            ExceededLimit.TURNS: f"its limit of {self.most_turns} turns",
            ExceededLimit.TOKENS: f"its limit of {self.most_tokens:,} tokens with {usage.tokens:,}",
            ExceededLimit.SILENCE: f"{limits.silence_s:.0f} s without a sign of life",
            ExceededLimit.FLOOD: f"its limit of {limits.output_bytes} bytes of output",
            ExceededLimit.PROVIDER: "the end of its provider's patience",
            ExceededLimit.DISK: "its share of the disk",
        }[exceeded]
        used = f"${usage.usd:.2f}" + (
            f" of ${self.bound_usd:.2f}" if exceeded is ExceededLimit.BUDGET else ""
        )
        used += AS_REPORTED if usage.is_reported else ""
        turns = "1 turn" if usage.turns == 1 else f"{usage.turns} turns"
        return f"{which}: {used}, {usage.active_s / 60:.1f} min and {turns} so far"

    def going_on(self, exceeded: ExceededLimit, usage: RunUsage, needs_usd: float = 0.0) -> str:
        """Return the sum of as much again, for people; empty where that is the limit once more.

        `needs_usd` must be left for the next call.
        """
        match exceeded:
            case ExceededLimit.BUDGET if not self.shared:
                left_usd = max(min(needs_usd, _MAX_USD), _MIN_USD)
                more_usd = left_usd - (self.bound_usd - usage.usd)
                if not more_usd > self.limits.budget_usd:
                    return ""
                enough = f"`/cardinal budget +{ceil(more_usd * 100) / 100:.2f}`"
                return f" As much again does not pay for its next call: {enough} does."
            case ExceededLimit.TURNS:
                limit, allowed, used = self.limits.max_turns, self.most_turns, usage.turns
            case ExceededLimit.TOKENS:
                limit, allowed, used = self.limits.max_tokens, self.most_tokens, usage.tokens
            case _:
                return ""
        then = _as_much_again(limit, allowed, used)
        if then == allowed + limit:
            return ""
        return f" That much again is already used: continuing allows {then:,.0f} {exceeded} in all."

    def advice(self) -> str:
        """Return how to lift a shared limit, for people; empty where the run's own limit holds."""
        if not self.shared:
            return ""
        return (
            " Raising the run's own budget does not help: raise"
            f" {Limit(self.rule).setting} in the policy, or let the other runs under it end first."
        )

    def _extend(self, limit: float, subject: Subject) -> float:
        allowed = limit
        for extended, used in self.extensions:
            if extended is subject and limit > 0:
                allowed = _as_much_again(limit, allowed, used)
        return allowed

    def _dollars(self) -> str:
        if not self.shared:
            return f"its budget of ${self.bound_usd:.2f}"
        return f"what {_SHARED[Limit(self.rule)]} of ${self.rule_usd:.2f} left for it"


def _as_much_again(limit: float, allowed: float, used: float) -> float:
    """Return the allowance once the limit is extended: where one more of it is used up already, by as much
    as was used, so that people are not asked before each call.
    """
    more = allowed + limit
    return more if used < more else 2 * used
