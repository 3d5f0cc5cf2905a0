"""The limits that runs of a board share, and how much of each is in use."""

from collections.abc import Iterator
from dataclasses import dataclass

from ledger.model.column_names import same_column
from ledger.model.spend_limits import Limit
from rules.policy.board import BoardLimits
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.runs.queue import MAX_CHECKS, Load

CHECKS = "Runs that only check, at the same time on the board."


@dataclass(frozen=True, slots=True)
class LimitInUse:
    """A limit in the policy's own words, the column, repository or person that it is about, and its use.

    `place` is empty for the board. Of dollars, `reserved` ones are in use, too; of runs, none is.
    """

    meaning: str
    place: str
    used: float
    allowed: float
    dollars: bool = False
    reserved: float = 0.0

    @property
    def is_reached(self) -> bool:
        return self.used >= self.allowed


def limits_in_use(policy: Policy, load: Load) -> tuple[LimitInUse, ...]:
    """Return the board's limits, then those of columns, repositories and people, without those of cards."""
    return (*_runs(policy, load), *_dollars(policy, load))


def _runs(policy: Policy, load: Load) -> Iterator[LimitInUse]:
    limits = policy.limits
    yield LimitInUse(_meaning(BoardLimits, "runs"), "", load.total, limits.runs)
    if load.checks:
        yield LimitInUse(CHECKS, "", load.checks, MAX_CHECKS)
    for name, column in policy.board.columns.items():
        if policy.archetype(name).STARTS_RUNS:
            used = sum(runs for place, runs in load.by_column.items() if same_column(place, name))
            yield LimitInUse(_meaning(ColumnPolicy, "concurrency"), name, used, column.concurrency)
    for name, used in sorted(load.by_repository.items()):
        meaning = _meaning(BoardLimits, "runs_per_repository")
        yield LimitInUse(meaning, name, used, limits.runs_per_repository)


def _dollars(policy: Policy, load: Load) -> Iterator[LimitInUse]:
    limits = policy.limits
    allowed = {Limit.DAY: limits.usd_per_day, Limit.BOARD: limits.usd_total}
    for limit, usd in allowed.items():
        if usd is not None:
            yield _of_dollars(load, limit, "", usd, _meaning(BoardLimits, limit))
    for name, column in policy.board.columns.items():
        if column.usd_per_day is not None:
            meaning = _meaning(ColumnPolicy, "usd_per_day")
            yield _of_dollars(load, Limit.COLUMN, name, column.usd_per_day, meaning)
    if limits.usd_per_person is not None:
        spent = {name for limit, name in load.spent if limit is Limit.PERSON}
        for name in sorted(spent | {share.by for share in load.reserved if share.by}):
            meaning = _meaning(BoardLimits, Limit.PERSON)
            yield _of_dollars(load, Limit.PERSON, name, limits.usd_per_person, meaning)


def _of_dollars(load: Load, limit: Limit, name: str, allowed: float, meaning: str) -> LimitInUse:
    is_it = same_column if limit is Limit.COLUMN else str.__eq__  # the policy may spell a column otherwise
    reserved = sum(share.usd for share in load.reserved if is_it(share.of(limit), name))
    spent = sum(usd for (of, place), usd in load.spent.items() if of is limit and is_it(place, name))
    return LimitInUse(meaning, name, spent + reserved, allowed, dollars=True, reserved=reserved)


def _meaning(part: type[BoardLimits | ColumnPolicy], setting: str) -> str:
    return part.model_fields[setting].description or setting
