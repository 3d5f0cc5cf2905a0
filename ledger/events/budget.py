"""The dollars of a run: its claim's share of common limits, and additions by people."""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class BudgetReserved(RunEvent, line="may spend ${usd:.2f} {by_rule}"):
    """From here on the run may spend `usd`, which no other run may count on any more.

    `by_rule` is the limit that made it less than the run's own budget, as the policy calls it, with that
    limit's dollars in `limit_usd`; both are empty where the run's budget is all that holds it.
    """

    usd: float
    by_rule: str
    limit_usd: float


@dataclass(frozen=True, slots=True)
class BudgetRaised(RunEvent, RuleEvent, zoom=Zoom.CONVERSATION, line="{by} added ${usd:.2f} to the budget"):
    """Somebody added `usd` to the run's own budget."""

    usd: float
    by: str
