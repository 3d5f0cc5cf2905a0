"""The waiting runs that may start now, in their order, and the reasons why the others wait."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from ledger.events.budget import BudgetReserved
from ledger.ids import BoardId, CardId, RunId
from ledger.model.spend_limits import Limit
from ledger.rows.halts import HaltRow
from ledger.rows.losses import LossRow
from ledger.rows.stops import StopRow
from ledger.states import Reason
from rules.card.stops import describe_halt, describe_loss, describe_stop
from rules.policy.model import Policy
from rules.runs.budget import BudgetAllocator, Share
from rules.snapshot import is_outside, outside_owner
from rules.text import code, count, plain

_NO_WORKER = "no worker is free"
_OTHERS_TURN = "the free workers go to other boards first"
TURN = attrgetter("rank", "queued_at", "run_id")  # in its order, each run is chosen whatever comes later
MAX_CHECKS = 2  # runs that only check, at the same time on a board: they cost a worker, and no dollars


class Obstacle(NamedTuple):
    """Why a run may not start, for people; `code` is OTHER where it only waits for a free place."""

    text: str
    code: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """A host that takes runs, and how many of its workers are free."""

    host: str
    free: int
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run. `stands` is the column in which its card stands now; None for none. `rank` is the card's
    place there, counted from the top. `leaving`: a question is open about its card that was dragged away.

    `by` is who started it, and `wish_usd` the rest of its own budget. `place` is the workspace with
    its card's files, `host` has it.
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
    host: str = ""
    place: str = ""
    same_issue: str = ""  # why it waits for a run on the same issue; empty: it does not
    overlap: str = ""  # why it waits for the work of another card on the same files; empty: it does not
    beside: bool = False  # it is beside the card's own runs: where the card stands makes no difference
    folder: str = ""  # the files that it works on instead of a repository; empty: none
    probes: bool = True  # a halted board may try with it: its end is judged by the rules of the card
    models: bool = True  # it calls models; one that does not only checks a commit, and takes no agent's place

    @property
    def wish(self) -> Share:
        return Share(self.run_id, self.card_id, self.column, self.by, self.wish_usd)


@dataclass(frozen=True, slots=True)
class Load:
    """The present load: counts of runs that a worker holds, dollars spent against each limit that runs share
    (those of a day: today's, UTC), and dollars that runs have reserved. `checks` counts runs that only check,
    which all the others leave out. `folders` has the run that works in each. `github_at`: GitHub takes no
    call for the board before that time.
    """

    total: int
    by_repository: Mapping[str, int]
    by_column: Mapping[str, int]
    spent: Mapping[tuple[Limit, str], float] = field(default_factory=dict)
    reserved: Sequence[Share] = ()
    halt: HaltRow | None = None
    checks: int = 0
    github_at: datetime | None = None
    folders: Mapping[str, RunId] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSelection:
    """The runs to start, in order, with their grants; the obstacle of each other one.

    `hosts` are those that some of them must start on; the others start anywhere. `free` is the rest.
    `codes` are those of the obstacles, but of them that are gone once a place is free.
    """

    starts: tuple[RunId, ...]
    reasons: Mapping[RunId, str]
    grants: Mapping[RunId, BudgetReserved] = field(default_factory=dict)
    hosts: Mapping[RunId, str] = field(default_factory=dict)
    free: tuple[HostCapacity, ...] = field(default=(), compare=False)
    codes: Mapping[RunId, Reason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """A board's demand for workers: how many runs could start, and how many runs hold a worker."""

    board_id: BoardId
    ready: int
    held: int
    weight: int = 1


def shares(demands: Sequence[Demand], free: int) -> dict[BoardId, int]:
    """Return how many of the `free` workers each board takes.

    Each goes to the board that then has the fewest runs for its weight, so that boards which all wait hold
    workers in proportion to their weights.
    """
    taken = {demand.board_id: 0 for demand in demands}
    for _ in range(min(free, sum(demand.ready for demand in demands))):
        hungry = (demand for demand in demands if taken[demand.board_id] < demand.ready)
        least = min(hungry, key=lambda it: ((it.held + taken[it.board_id] + 1) / it.weight, it.board_id))
        taken[least.board_id] += 1
    return taken


def choose_runs(
    policy: Policy,
    waiting: Sequence[Waiting],
    load: Load,
    stops: Sequence[StopRow],
    *,
    capacities: Sequence[HostCapacity],
    losses: Sequence[LossRow] = (),
    owner: str = "",
    host: str = "",
    most: int | None = None,
) -> RunSelection:
    """Choose by place in the column, then by age, for the free workers; `owner` is the board's owner.

    `host` asks: it is taken first where several fit. `most` is how many may start; None: no such bound.
    """
    gate = _Gate(policy, load, stops, Workers(capacities, host), losses, owner=owner)
    starts: list[RunId] = []
    reasons: dict[RunId, str] = {}
    codes: dict[RunId, Reason] = {}
    for run in sorted(waiting, key=TURN):
        obstacle = next(gate.obstacles(run), Obstacle(_OTHERS_TURN) if len(starts) == most else None)
        if obstacle is None:
            gate.admit(run)
            starts.append(run.run_id)
            continue
        reasons[run.run_id] = obstacle.text
        if obstacle.code:
            codes[run.run_id] = obstacle.code
    left = gate.workers.capacities
    return RunSelection(
        starts=tuple(starts),
        reasons=reasons,
        grants=gate.grants,
        hosts=gate.hosts,
        free=left,
        codes=codes,
    )


def limit_sentence(until: datetime) -> str:
    return f"GitHub takes no more calls before {until:%H:%M} UTC (its limit): it starts on its own then"


def without_labels(labels: Sequence[str]) -> str:
    """Return the sentence about labels of a column that no host has."""
    setting = f"CARDINAL_LABELS={','.join(labels)}"
    return (
        f"no host that takes runs has the labels {', '.join(labels)}: start one with {code(setting)}, or"
        " change `runs_on` of the column"
    )


def claim_obstacle(
    policy: Policy,
    run: Waiting,
    load: Load,
    stops: Sequence[StopRow],
    *,
    losses: Sequence[LossRow] = (),
    owner: str = "",
) -> str:
    """Return why a worker of somebody's own may not claim the run now; empty where it may.

    The same limits hold as for agents, but for workers and dollars, of which it takes none.
    """
    gate = _Gate(policy, load, stops, Workers((), ""), losses, owner=owner)
    return next((it.text for it in chain(gate.person_obstacles(run), gate.limit_obstacles(run))), "")


class Workers:
    """The free workers of all hosts that take runs."""

    def __init__(self, capacities: Sequence[HostCapacity], first: str) -> None:
        self._first = first
        self._capacities = {capacity.host: capacity for capacity in capacities}

    @property
    def capacities(self) -> tuple[HostCapacity, ...]:
        """The hosts with their free places now."""
        return tuple(self._capacities.values())

    def obstacle(self, run: Waiting, labels: Sequence[str]) -> Obstacle | None:
        """Return the reason that keeps the run from a worker; None where one is free."""
        able = self._able(run, labels)
        if not able and labels:
            return Obstacle(without_labels(labels), Reason.PERSON)
        if any(capacity.free > 0 for capacity in able):
            return None
        bound = run.host and run.host in self._capacities and len(able) < len(self._capacities)
        return Obstacle(f"{_NO_WORKER} on host {run.host}, which has its files" if bound else _NO_WORKER)

    def take(self, run: Waiting, labels: Sequence[str]) -> str:
        """Take a worker; return its host where the run cannot start on any other, else empty."""
        able = self._able(run, labels)
        best = max(able, key=lambda it: (it.free > 0, it.host == self._first, it.free))
        self._capacities[best.host] = replace(best, free=best.free - 1)
        return best.host if len(able) < len(self._capacities) else ""

    def _able(self, run: Waiting, labels: Sequence[str]) -> tuple[HostCapacity, ...]:
        """Return the hosts that may work on it: its own while that is there, else those with the labels."""
        fit = tuple(capacity for capacity in self._capacities.values() if {*labels} <= {*capacity.labels})
        return tuple(capacity for capacity in fit if capacity.host == run.host) or fit


class _Gate:
    """The limits, with the runs that were let through counted in."""

    def __init__(
        self,
        policy: Policy,
        load: Load,
        stops: Sequence[StopRow],
        workers: Workers,
        losses: Sequence[LossRow],
        *,
        owner: str,
    ) -> None:
        self._owner = owner
        self._policy, self._stops, self._losses = policy, stops, losses
        self.workers, self.hosts = workers, dict[RunId, str]()
        self._total, self._checks = load.total, load.checks
        self._github_at = load.github_at
        self._halt, self._may_probe = load.halt, bool(load.halt and load.halt.probing and not load.halt.probe)
        self._purse = BudgetAllocator(policy, load.spent, load.reserved)
        self.grants: dict[RunId, BudgetReserved] = {}
        self._by_repository = Counter(load.by_repository)
        self._by_column = Counter(load.by_column)
        self._writers = dict(load.folders)

    def admit(self, run: Waiting) -> None:
        """Count the run as running, and its grant as reserved."""
        if host := self.workers.take(run, self._labels(run)):
            self.hosts[run.run_id] = host
        if not run.models:
            self._checks += 1
            self.grants[run.run_id] = BudgetReserved(run.run_id, 0.0, "", 0.0)
            return
        granted = self._purse.grant(run.wish)
        if isinstance(granted, BudgetReserved):
            self._purse.reserve(run.wish, granted)
            self.grants[run.run_id] = granted
        self._may_probe = False
        self._total += 1
        if run.folder:
            self._writers[run.folder] = run.run_id
        self._by_repository[run.repository] += 1
        self._by_column[run.column] += 1

    def obstacles(self, run: Waiting) -> Iterator[Obstacle]:
        """Yield what is in the run's way, what only a person removes first."""
        yield from self.person_obstacles(run)
        yield from self.limit_obstacles(run)
        if busy := self.workers.obstacle(run, self._labels(run)):
            yield busy

    def person_obstacles(self, run: Waiting) -> Iterator[Obstacle]:
        """Yield the obstacles that only a person removes."""
        if lost := describe_loss(self._losses, run.repository):
            yield Obstacle(lost, Reason.PERSON)
        if self._owner and is_outside(run.repository, self._owner):
            yield Obstacle(outside_owner(run.repository, self._owner), Reason.PERSON)
        if stopped := describe_stop(self._stops, run.card_id, run.column):
            yield Obstacle(stopped, Reason.STOPPED)
        if run.beside or not run.models:
            return
        if run.leaving:
            said = "its card was dragged away: answer the question about that first"
            yield Obstacle(said, Reason.PERSON)
        if run.stands is None:
            said = "its card is not in a column: drag it to an execution column"
            yield Obstacle(said, Reason.PERSON)
        elif not self._policy.archetype(run.stands).STARTS_RUNS:
            where = f"{code(run.stands)}, which is not an execution column of the policy"
            said = f"its card is in {where}: drag it to one, or correct the policy"
            yield Obstacle(said, Reason.PERSON)

    def limit_obstacles(self, run: Waiting) -> Iterator[Obstacle]:
        """Yield the limits of the board in the run's way, without those of its workers: they go away as other
        runs end or time passes.
        """
        if run.same_issue:
            yield Obstacle(run.same_issue, Reason.DEPENDENCY)
        if self._github_at is not None:
            yield Obstacle(limit_sentence(self._github_at), Reason.GITHUB_LIMIT)
        if run.models:
            yield from self._limits(run)
        elif self._checks >= MAX_CHECKS:
            yield Obstacle(f"{count(self._checks, 'check')} run already")

    def _labels(self, run: Waiting) -> tuple[str, ...]:
        column = self._policy.column(run.column)
        return column.runs_on if column is not None else ()

    def _limits(self, run: Waiting) -> Iterator[Obstacle]:
        """Yield the limits of the policy that are in the way of an agent."""
        limits, column = self._policy.limits, self._policy.column(run.column)
        if self._halt and not (self._may_probe and run.probes):
            yield Obstacle(describe_halt(self._halt), Reason.HALTED)
        if run.overlap:
            yield Obstacle(run.overlap, Reason.DEPENDENCY)
        if writer := self._writers.get(run.folder):
            said = f"{writer} works in the same folder: it starts on its own when that pauses or ends"
            yield Obstacle(said, Reason.DEPENDENCY)
        if column is not None and self._by_column[run.column] >= column.concurrency:
            running = count(self._by_column[run.column], "run")
            yield Obstacle(f"{plain(run.column, 60)} is full with {running}")
        if self._by_repository[run.repository] >= limits.runs_per_repository:
            running = count(self._by_repository[run.repository], "run")
            yield Obstacle(f"{plain(run.repository, 100)} is full with {running}")
        if self._total >= limits.runs:
            yield Obstacle(f"the board is full with {count(self._total, 'run')}")
        granted = self._purse.grant(run.wish)
        if isinstance(granted, str):
            yield Obstacle(granted, Reason.BUDGET)
