"""Dollars that runs share: how much a run may still spend without any limit being passed, or why it waits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ledger.events.budget import BudgetReserved
from ledger.ids import CardId, RunId
from ledger.model.spend_limits import Limit
from rules.policy.model import Policy
from rules.text import plain, usd

MIN_USD, MIN_SHARE = 0.05, 0.05  # with less a run could hardly begin
_NAMED = 3  # runs that a sentence names
_CENT_PART = 1e-9  # sums of floats differ by less


@dataclass(frozen=True, slots=True)
class Share:
    """Dollars of one run: the rest of its own budget, or its reservation. `by` started it."""

    run_id: RunId
    card_id: CardId
    column: str
    by: str
    usd: float

    def of(self, limit: Limit) -> str:
        """Return the card, column or person for which the limit counts these dollars; else empty."""
        named = {Limit.CARD: self.card_id, Limit.COLUMN: self.column, Limit.PERSON: self.by}
        return named.get(limit, "")


@dataclass(frozen=True, slots=True)
class _Bound:
    """One limit as it stands for one run."""

    limit: Limit
    limit_usd: float
    spent_usd: float
    reserved: tuple[Share, ...]

    @property
    def reserved_usd(self) -> float:
        return sum(share.usd for share in self.reserved)

    @property
    def left_usd(self) -> float:
        return self.limit_usd - self.spent_usd - self.reserved_usd


class BudgetAllocator:
    """The dollars spent and reserved, with grants made meanwhile counted in.

    `spent` is by limit and its subject: a card, a column, a person, or empty for the board.
    """

    def __init__(
        self, policy: Policy, spent: Mapping[tuple[Limit, str], float], reserved: Sequence[Share]
    ) -> None:
        self._policy, self._spent = policy, spent
        self._reserved: dict[tuple[Limit, str], list[Share]] = {}
        for share in reserved:
            self._count(share)

    def grant(self, share: Share) -> BudgetReserved | str:
        """Return the run's grant, or the sentence that says why it has to wait."""
        bounds = tuple(self._bounds(share))
        tightest = min(bounds, key=lambda bound: bound.left_usd, default=None)
        if share.usd <= 0 or tightest is None or tightest.left_usd >= share.usd - _CENT_PART:
            return BudgetReserved(share.run_id, max(0.0, share.usd), "", 0.0)
        if tightest.left_usd < max(MIN_USD, MIN_SHARE * share.usd):
            return _why(tightest, share)
        return BudgetReserved(share.run_id, tightest.left_usd, tightest.limit, tightest.limit_usd)

    def reserve(self, share: Share, granted: BudgetReserved) -> None:
        self._count(Share(share.run_id, share.card_id, share.column, share.by, granted.usd))

    def _count(self, share: Share) -> None:
        for limit in Limit if share.usd > 0 else ():
            self._reserved.setdefault((limit, share.of(limit)), []).append(share)

    def _bounds(self, wish: Share) -> Iterator[_Bound]:
        limits, column = self._policy.limits, self._policy.column(wish.column)
        wanted = {
            Limit.CARD: limits.usd_per_card,
            Limit.COLUMN: column.usd_per_day if column else None,
            Limit.PERSON: limits.usd_per_person if wish.by else None,
            Limit.DAY: limits.usd_per_day,
            Limit.BOARD: limits.usd_total,
        }
        for limit, limit_usd in wanted.items():
            if limit_usd is not None:
                key = (limit, wish.of(limit))
                others = (share for share in self._reserved.get(key, ()) if share.run_id != wish.run_id)
                yield _Bound(limit, limit_usd, self._spent.get(key, 0.0), tuple(others))


def _why(bound: _Bound, wish: Share) -> str:
    """Return the sentence about the used-up limit, its users, and the next step."""
    what, tomorrow = {
        Limit.CARD: ("the card's budget", False),
        Limit.COLUMN: (f"the budget of {plain(wish.column, 60)} for today", True),
        Limit.PERSON: (f"the budget of {plain(wish.by, 40)} for today", True),
        Limit.DAY: ("the board's budget for today", True),
        Limit.BOARD: ("the board's budget", False),
    }[bound.limit]
    used = f"{what} of {usd(bound.limit_usd)} is used up: {usd(bound.spent_usd)} spent"
    if bound.reserved:
        names = ", ".join(share.run_id for share in bound.reserved[:_NAMED])
        more = len(bound.reserved) - _NAMED
        holders = f"{names} and {more} more" if more > 0 else names
        used += f" and {usd(bound.reserved_usd)} reserved by {holders}"
    ways = [f"raise {bound.limit.setting}"]
    ways += ["wait until that run has ended"] if bound.reserved else []
    ways += ["it continues after midnight UTC"] if tomorrow else []
    return f"{used}: {', or '.join(ways)}"
