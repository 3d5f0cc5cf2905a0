"""The waiting runs that may start now, in their order, and the reasons why the others wait."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ledger.ids import CardId, RunId
from ledger.model.spend_limits import Limit
from rules.policy.model import Policy
from rules.runs.budget import BudgetAllocator, Grant, Share
from rules.snapshot import Halt, Loss, Stop, is_outside, outside
from rules.text import code, count, in_queue, plain

MAX_CHECKS = 2  # runs that only check, at the same time on a board: they cost a worker, and no dollars


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run. `stands` is the column in which its card stands now; None for none. `rank` is the card's
    place there, counted from the top. `leaving`: a question is open about its card that was dragged away.

    `by` is who started it, and `wish_usd` what is left of its own budget.
    """

    run_id: RunId
    card_id: CardId
    column: str
    stands: str | None
    repository: str
    rank: int
    queued_at: datetime
    leaving: bool = False
    by: str = ""
    wish_usd: float = 0.0
    models: bool = True  # it calls models; one that does not only checks a commit, and takes no agent's place

    @property
    def wish(self) -> Share:
        return Share(self.run_id, self.card_id, self.column, self.by, self.wish_usd)


@dataclass(frozen=True, slots=True)
class Load:
    """What runs already: counts of runs that a worker holds, dollars spent against each limit that runs share
    (those of a day: today's, UTC), and dollars that runs have reserved. `checks` counts runs that only check,
    which all the others leave out.
    """

    total: int
    by_repository: Mapping[str, int]
    by_column: Mapping[str, int]
    spent: Mapping[tuple[Limit, str], float] = field(default_factory=dict)
    reserved: Sequence[Share] = ()
    halt: Halt | None = None
    checks: int = 0


@dataclass(frozen=True, slots=True)
class RunSelection:
    """The runs to start, in order, with their grants; a line and a place in the queue for each other one."""

    starts: tuple[RunId, ...]
    reasons: Mapping[RunId, str]
    grants: Mapping[RunId, Grant] = field(default_factory=dict)
    places: Mapping[RunId, int] = field(default_factory=dict)


def choose(
    policy: Policy,
    waiting: Sequence[Waiting],
    load: Load,
    stops: Sequence[Stop],
    *,
    slots: int,
    losses: Sequence[Loss] = (),
    owner: str = "",
) -> RunSelection:
    """Choose by place in the column, then by age, for `slots` free workers; `owner` is the board's owner."""
    gate = _Gate(policy, load, stops, slots, losses, owner)
    starts: list[RunId] = []
    reasons: dict[RunId, str] = {}
    lengths: Counter[str] = Counter()
    places: dict[RunId, int] = {}
    for run in sorted(waiting, key=lambda run: (run.rank, run.queued_at, run.run_id)):
        obstacle = gate.obstacle(run)
        if obstacle is None:
            gate.admit(run)
            starts.append(run.run_id)
            continue
        line = run.column if run.models else ""
        lengths[line] += 1
        places[run.run_id] = lengths[line]
        reasons[run.run_id] = f"{in_queue(lengths[line])}: {obstacle}"
    return RunSelection(tuple(starts), reasons, gate.grants, places)


def stopped_by(stops: Sequence[Stop], card_id: CardId, column: str | None) -> str:
    """Return the sentence about the widest stop that holds the card, or an empty string."""
    for scope, target, lift in (
        ("board", None, "/cardinal resume board"),
        ("column", column, "/cardinal resume column"),
        ("card", card_id, "/cardinal resume"),
    ):
        for stop in stops:
            if stop.scope == scope and target in (None, stop.target):
                return f"the {scope} is stopped by {plain(stop.by, 40)}: {lift} lets it go on"
    return ""


def lost_by(losses: Sequence[Loss], repository: str) -> str:
    """Return the sentence about the loss of the repository, or an empty string."""
    near = (repository, repository.partition("/")[0])
    return next((loss.sentence for loss in losses if loss.blocks and loss.target in near), "")


def _halted(halt: Halt) -> str:
    tries = f"{halt.probe} tries" if halt.probe else f"one run tries at {halt.until:%H:%M} UTC"
    return f"the board is halted: {plain(halt.because, 160)} ({tries}; /cardinal resume board)"


class _Gate:
    """The limits, with the runs that were let through counted in."""

    def __init__(
        self,
        policy: Policy,
        load: Load,
        stops: Sequence[Stop],
        slots: int,
        losses: Sequence[Loss],
        owner: str,
    ) -> None:
        self._owner = owner
        self._policy, self._stops, self._slots, self._losses = policy, stops, slots, losses
        self._total, self._checks = load.total, load.checks
        self._halt, self._may_probe = load.halt, bool(load.halt and load.halt.probing and not load.halt.probe)
        self._purse = BudgetAllocator(policy, load.spent, load.reserved)
        self.grants: dict[RunId, Grant] = {}
        self._by_repository = Counter(load.by_repository)
        self._by_column = Counter(load.by_column)

    def admit(self, run: Waiting) -> None:
        """Count the run as running, and its grant as reserved."""
        self._slots -= 1
        if not run.models:
            self._checks += 1
            self.grants[run.run_id] = Grant(0.0)
            return
        granted = self._purse.grant(run.wish)
        if isinstance(granted, Grant):
            self._purse.reserve(run.wish, granted)
            self.grants[run.run_id] = granted
        self._may_probe = False
        self._total += 1
        self._by_repository[run.repository] += 1
        self._by_column[run.column] += 1

    def obstacle(self, run: Waiting) -> str | None:
        """Return the run's obstacle; None without one."""
        return next(self._obstacles(run), None)

    def _obstacles(self, run: Waiting) -> Iterator[str]:
        if lost := lost_by(self._losses, run.repository):
            yield lost
        if self._owner and is_outside(run.repository, self._owner):
            yield outside(run.repository, self._owner)
        if stopped := stopped_by(self._stops, run.card_id, run.column):
            yield stopped
        if run.models:
            yield from self._no_place(run)
        elif self._checks >= MAX_CHECKS:
            yield f"{count(self._checks, 'check')} run already"
        if self._slots <= 0:
            yield "no worker is free"

    def _no_place(self, run: Waiting) -> Iterator[str]:
        """Yield the obstacles of an agent: its card, or the policy's limits."""
        limits, column = self._policy.limits, self._policy.column(run.column)
        if self._halt and not self._may_probe:
            yield _halted(self._halt)
        if run.leaving:
            yield "its card was dragged away: answer the question about that first"
        if run.stands is None:
            yield "its card stands in no column: drag it to an execution column"
        elif not self._policy.archetype(run.stands).STARTS_RUNS:
            where = f"{code(run.stands)}, which is no execution column of the policy"
            yield f"its card stands in {where}: drag it to one, or correct the policy"
        if column is not None and self._by_column[run.column] >= column.concurrency:
            yield f"{plain(run.column, 60)} is full with {count(self._by_column[run.column], 'run')}"
        if self._by_repository[run.repository] >= limits.runs_per_repository:
            running = count(self._by_repository[run.repository], "run")
            yield f"{plain(run.repository, 100)} is full with {running}"
        if self._total >= limits.runs:
            yield f"the board is full with {count(self._total, 'run')}"
        granted = self._purse.grant(run.wish)
        if isinstance(granted, str):
            yield granted
