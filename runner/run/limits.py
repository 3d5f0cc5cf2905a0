"""The watchdogs: pure verdicts over what a run used and how long its agent has been silent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ledger.model.limit_answers import Subject
from ledger.model.spend_limits import Limit
from runner.run.run_spec import Limits


class ExceededLimit(StrEnum):
    """What a watchdog says; the first that bites counts, in this order."""

    FLOOD = "flood"
    PROVIDER = "provider"  # said by the gateway, not by what was used
    DISK = "disk"  # said by the scales of the workspace
    SILENCE = "silence"
    BUDGET = "budget"
    TIME = "time"
    TURNS = "turns"


# These park and ask; the others end the run.
ASKS = frozenset({ExceededLimit.BUDGET, ExceededLimit.TIME, ExceededLimit.TURNS})
_SHARED = {
    Limit.CARD: "the card's budget",
    Limit.COLUMN: "the column's budget for the day",
    Limit.PERSON: "a person's budget for the day",
    Limit.DAY: "the board's budget for the day",
    Limit.BOARD: "the board's budget",
}
_SAME_USD = 1e-6  # sums of floats differ by less


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What the run used so far, over all its claims; `silent_s` since the agent was last heard."""

    active_s: float
    silent_s: float
    usd: float
    turns: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits with what people added to them: `extensions` says how often they gave as much again of one,
    and `added_usd` are dollars on top.

    `ceiling_usd` is what the run may cost in all before its reservation is used up, None without one; the
    policy's limit `rule`, of `rule_usd`, made that less than the run's own budget.
    """

    limits: Limits
    extensions: Mapping[Subject, int] = field(default_factory=dict)
    added_usd: float = 0.0
    ceiling_usd: float | None = None
    rule: str = ""
    rule_usd: float = 0.0

    def times(self, subject: Subject) -> int:
        """How many times over the limit of that applies."""
        return 1 + self.extensions.get(subject, 0)

    @property
    def most_s(self) -> float:
        """The seconds that the agent may be at work; 0 is no limit."""
        return self.limits.timeout_s * self.times(Subject.TIME)

    @property
    def most_turns(self) -> int:
        """The turns that the agent may take; 0 is no limit."""
        return self.limits.max_turns * self.times(Subject.TURNS)

    @property
    def budget_usd(self) -> float:
        """The run's own budget; 0 is none."""
        base_usd = self.limits.budget_usd
        return base_usd * self.times(Subject.BUDGET) + self.added_usd if base_usd > 0 else 0.0

    @property
    def bound_usd(self) -> float:
        """What the run may cost in all for now; 0 is no bound."""
        bounds = [self.budget_usd] if self.budget_usd > 0 else []
        return min(bounds + ([] if self.ceiling_usd is None else [self.ceiling_usd]), default=0.0)

    @property
    def shared(self) -> bool:
        """Whether a limit that several runs share holds the run sooner than its own budget."""
        return bool(self.rule) and not 0 < self.budget_usd <= self.bound_usd + _SAME_USD

    def left_usd(self, spent_usd: float) -> float:
        """Return what a turn may still cost, never nothing: a turn without a cent could not even end well."""
        return max(0.01, (self.bound_usd or self.limits.budget_usd) - spent_usd)

    def verdict(self, spent: RunUsage) -> ExceededLimit | None:
        """Return the watchdog that bites, or None. A limit of 0 is no limit but for the output's."""
        limits = self.limits
        bites = (
            (ExceededLimit.FLOOD, spent.output_bytes > limits.output_bytes),
            (ExceededLimit.SILENCE, 0 < limits.silence_s <= spent.silent_s),
            (ExceededLimit.BUDGET, 0 < self.bound_usd <= spent.usd),
            (ExceededLimit.TIME, 0 < self.most_s <= spent.active_s),
            (ExceededLimit.TURNS, 0 < self.most_turns <= spent.turns),
        )
        return next((verdict for verdict, bitten in bites if bitten), None)

    def reached(self, verdict: ExceededLimit, spent: RunUsage) -> str:
        """Return which limit was reached and what was spent, as a person reads it."""
        limits = self.limits
        which = {
            ExceededLimit.BUDGET: self._dollars(),
            ExceededLimit.TIME: f"its time of {self.most_s / 60:.0f} min",
            ExceededLimit.TURNS: f"its limit of {self.most_turns} turns",
            ExceededLimit.SILENCE: f"{limits.silence_s:.0f} s without a sign of life",
            ExceededLimit.FLOOD: f"its limit of {limits.output_bytes} bytes of output",
            ExceededLimit.PROVIDER: "the end of its provider's patience",
            ExceededLimit.DISK: "its share of the disk",
        }[verdict]
        used = f"${spent.usd:.2f}" + (f" of ${self.bound_usd:.2f}" if verdict is ExceededLimit.BUDGET else "")
        return f"{which}: {used}, {spent.active_s / 60:.1f} min and {spent.turns} turns so far"

    def advice(self) -> str:
        """Return what a person has to know who wants to lift a limit of dollars; empty where nothing more."""
        if not self.shared:
            return ""
        return (
            " Raising the run's own budget does not help: raise"
            f" {Limit(self.rule).setting} in the policy, or let the other runs under it end first."
        )

    def _dollars(self) -> str:
        if not self.shared:
            return f"its budget of ${self.bound_usd:.2f}"
        return f"what {_SHARED[Limit(self.rule)]} of ${self.rule_usd:.2f} left for it"
