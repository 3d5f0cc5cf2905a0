"""Money and flow: costs, endings and waits of runs since a moment."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select, union_all

from ledger.events.run import CHECK
from ledger.events.turn import OWN_LOGIN, SUBSCRIPTION
from ledger.queries.card_filter import CardScope
from ledger.states import Ending
from ledger.views.cards import cards
from ledger.views.runs import runs
from ledger.views.spend import spend
from ledger.views.waits import WaitsFor, waits

ASSISTANT = "planning assistant"
SHARED_BY = ("column", "repository", "person", "agent", "model")
NO_PERSON = "no person asked"
_PERSON = case((spend.c.person == "", NO_PERSON), else_=spend.c.person)
DAY_S = 86_400
EPOCH = date(1970, 1, 1).toordinal()
MAX_WAITS = 10  # cards


@dataclass(frozen=True, slots=True)
class SpendShare:
    """Dollars of one day, column, repository, person, agent or model."""

    name: str
    usd: float


class MergeShare(NamedTuple):
    """Merged cards of one repository, column, agent or model: how many, dollars and seconds of work, and
    the median of seconds from the first run's place in the queue to the merge; None where none is known.
    """

    name: str
    merged: int
    usd: float
    active_s: float
    median_s: float | None


class DayShare(NamedTuple):
    """Dollars of one agent on one day."""

    day: str
    agent: str
    usd: float


class CardWait(NamedTuple):
    """Seconds that a card waited for people, for a worker, and for an agent at work."""

    repository: str | None
    number: int | None
    title: str
    people_s: float
    worker_s: float
    agent_s: float

    @property
    def name(self) -> str:
        """The name of its issue, or `draft`."""
        return f"{self.repository}#{self.number}" if self.number else "draft"

    @property
    def seconds(self) -> tuple[float, float, float]:
        """Its waits for people, for a worker, and for an agent at work."""
        return self.people_s, self.worker_s, self.agent_s


class DayWaits(NamedTuple):
    """Seconds that cards waited on one day for people, for a worker, and for agents at work."""

    day: str
    people_s: float
    worker_s: float
    agent_s: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of the time since `since`. `runs`, and the figures about them, are of those queued in it.

    `merged` counts cards that rest since then with a merged pull request; each took so many dollars and hours
    of agents' work. `needed_person`: runs that asked something, or whose plan a person has to approve.
    `people_s`, `workers_s` and `agents_s` are the seconds that cards waited for people (answers, approvals,
    reviews and failures), for a worker, and for an agent at work; `waits` has the cards that waited longest,
    `waits_by_day` the days (UTC) on which any did, the first day first. `usd_by` has the dollars by day,
    column, repository, person, agent and model, `agents_by_day` those of each agent's days, the first day
    first. `estimated_usd` are those of runs for which a subscription pays, `reported_usd` those that only the
    agents reported. `median_merge_s`: half of the
    merged cards took longer from the queue to the merge; `merged_by` has the merges by repository, and by the
    newest run's column, agent and model, the most first.
    """

    since: datetime
    usd: float
    runs: int
    endings: dict[str, int]
    reasons: dict[str, int]
    needed_person: int
    people_s: float
    workers_s: float
    agents_s: float
    waits: tuple[CardWait, ...]
    waits_by_day: tuple[DayWaits, ...]
    merged: int
    usd_per_merge: float | None
    hours_per_merge: float | None
    median_merge_s: float | None
    merged_by: dict[str, tuple[MergeShare, ...]]
    usd_by: dict[str, tuple[SpendShare, ...]]
    agents_by_day: tuple[DayShare, ...]
    estimated_usd: float
    reported_usd: float


class _Begun(NamedTuple):
    """The counts of a run."""

    ending: Ending | None
    reason: str
    questions: int
    plan_required: bool
    plan_revision: int


def of_boards(
    db: Connection,
    since: datetime,
    now: datetime,
    scopes: Collection[CardScope] | None = None,
) -> Stats:
    """Return the figures of all boards; or of these, of cards and runs about repositories seen in any of them
    alone.
    """
    visible: list[ColumnElement[bool]] = []
    whole: list[ColumnElement[bool]] = []  # for what is said of a card, with all its runs
    if scopes is not None:
        visible = whole = [cards.c.board_id.in_([scope.board_id for scope in scopes])]
    if scopes is not None and not all(scope.seen is None for scope in scopes):
        names = tuple(frozenset[str]().union(*(scope.seen or () for scope in scopes)))
        own = (*visible, cards.c.repository.in_(names))
        no_work = or_(runs.c.repository.is_(None), runs.c.repository == "")
        visible, whole = [*own, or_(no_work, runs.c.repository.in_(names))], [*own, *_wholly_in(names)]
    begun = _runs(db, since, visible)
    merges = _merges(db, since, whole)
    longest, (people_s, workers_s, agents_s) = _list_waits(db, since, now, whole)
    spent = _sum_spending(db, since, visible)
    days = [(row.name, row.agent, row.payer, row.usd) for row in spent if row.by == "day"]
    per_merge = len(merges) or None
    return Stats(
        since=since,
        usd=sum(usd for *_, usd in days),
        runs=len(begun),
        endings=_counts(run.ending.value if run.ending else "" for run in begun),
        reasons=_counts(run.reason for run in begun if run.ending in (Ending.FAILED, Ending.LOST)),
        needed_person=sum(1 for it in begun if it.questions or (it.plan_required and it.plan_revision)),
        people_s=people_s,
        workers_s=workers_s,
        agents_s=agents_s,
        waits=longest,
        waits_by_day=_waits_by_day(db, since, now, whole),
        merged=len(merges),
        usd_per_merge=per_merge and sum(merge.usd for merge in merges) / per_merge,
        hours_per_merge=per_merge and sum(merge.active_s for merge in merges) / 3600 / per_merge,
        median_merge_s=_share("", merges).median_s,
        merged_by={
            "repository": _merged_by(merges, lambda merge: merge.repository),
            "column": _merged_by(merges, lambda merge: merge.column),
            "agent": _merged_by(merges, lambda merge: merge.agent),
            "model": _merged_by(merges, lambda merge: merge.model),
        },
        usd_by={
            "day": tuple(SpendShare(day, usd) for (day,), usd in _sum_up(days, 1)),
            **{by: _shares(row for row in spent if row.by == by) for by in SHARED_BY},
        },
        agents_by_day=tuple(DayShare(day, name, usd) for (day, name), usd in _sum_up(days, 2)),
        estimated_usd=sum(usd for *_, payer, usd in days if payer == SUBSCRIPTION),
        reported_usd=sum(usd for *_, payer, usd in days if payer == OWN_LOGIN),
    )


def _sum_up(spent: Iterable[tuple[Any, ...]], names: int) -> Iterable[tuple[tuple[Any, ...], float]]:
    """Return the dollars by the first so many names, in their order."""
    sums: dict[tuple[Any, ...], float] = {}
    for row in spent:
        sums[row[:names]] = sums.get(row[:names], 0.0) + row[-1]
    return sums.items()


def _runs(db: Connection, since: datetime, visible: list[ColumnElement[bool]]) -> list[_Begun]:
    joined = runs.join(cards, cards.c.card_id == runs.c.card_id)
    query = select(*(runs.c[name] for name in _Begun._fields)).select_from(joined)
    begun = query.where(runs.c.queued_at >= since, runs.c.kind != CHECK, *visible)
    return [_Begun(*row) for row in db.execute(begun)]


def _wholly_in(names: tuple[str, ...]) -> Iterable[ColumnElement[bool]]:
    """Return that every run and the pull request of a card are in repositories of these names."""
    elsewhere = runs.c.repository.not_in(("", *names)) & (runs.c.card_id == cards.c.card_id)
    yield ~exists().where(elsewhere)
    yield func.coalesce(cards.c.pull_repository, "").in_(("", *names))


class _Merge(NamedTuple):
    """A merged card: where, by whom, for how much, after how much work, and how long after it was queued.

    `model` is the one that the newest run paid most for, after its agent's name.
    """

    repository: str
    column: str
    agent: str
    model: str
    usd: float
    active_s: float
    took_s: float | None


def _merges(db: Connection, since: datetime, whole: list[ColumnElement[bool]]) -> tuple[_Merge, ...]:
    """Return each card that was merged."""
    merged = and_(cards.c.pull_state == "merged", cards.c.state_at >= since, *whole)
    newest, of_card = runs.alias(), runs.alias()  # the conditions of `whole` are about runs themselves
    first = select(func.min(of_card.c.queued_at)).where(of_card.c.card_id == cards.c.card_id)
    usd, active_s = (
        select(func.coalesce(func.sum(it), 0.0)).where(spend.c.card_id == cards.c.card_id).scalar_subquery()
        for it in (spend.c.usd, spend.c.active_s)
    )
    joined = cards.outerjoin(newest, newest.c.run_id == cards.c.run_id)
    of_run = select(spend.c.model).where(spend.c.run_id == cards.c.run_id)
    model = of_run.order_by(spend.c.usd.desc(), spend.c.model).limit(1).scalar_subquery()
    asked = cards.c.repository, newest.c.column, newest.c.agent, newest.c.agent.concat(" ").concat(model)
    names = (func.coalesce(it, "") for it in asked)
    query = select(*names, usd, active_s, cards.c.state_at, first.scalar_subquery()).select_from(joined)
    return tuple(
        _Merge._make((*known, None if queued is None else (at - queued).total_seconds()))
        for *known, at, queued in db.execute(query.where(merged))
    )


def _merged_by(merges: Iterable[_Merge], name_of: Callable[[_Merge], str]) -> tuple[MergeShare, ...]:
    by_name: dict[str, list[_Merge]] = {}
    for merge in merges:
        by_name.setdefault(name_of(merge), []).append(merge)
    shares = (_share(name, its) for name, its in by_name.items())
    return tuple(sorted(shares, key=lambda share: (-share.merged, share.name)))


def _share(name: str, merges: Sequence[_Merge]) -> MergeShare:
    took = [merge.took_s for merge in merges if merge.took_s is not None]
    usd, active_s = sum(merge.usd for merge in merges), sum(merge.active_s for merge in merges)
    return MergeShare(name, len(merges), usd, active_s, median(took) if took else None)


class _Sum(NamedTuple):
    """Dollars of one `name` of the kind `by`; those of a day are told apart by agent and by who pays."""

    by: str
    name: str
    agent: str
    payer: str
    usd: float


def _sum_spending(db: Connection, since: datetime, visible: list[ColumnElement[bool]]) -> list[_Sum]:
    """Return the dollars by day and by each of SHARED_BY; the rows are read once for all of them."""
    agent = func.coalesce(runs.c.agent, ASSISTANT)
    names = {
        "day": spend.c.day,
        "column": spend.c.column,
        "repository": func.coalesce(runs.c.repository, cards.c.repository, ""),
        "person": _PERSON,
        "agent": agent,
        "model": func.coalesce(runs.c.agent.concat(" ").concat(spend.c.model), ASSISTANT),
        "payer": func.coalesce(runs.c.payer, ""),
    }
    joined = spend.join(cards, cards.c.card_id == spend.c.card_id)
    joined = joined.outerjoin(runs, runs.c.run_id == spend.c.run_id)
    first_day = since.astimezone(UTC).date().isoformat()
    query = select(*(it.label(name) for name, it in names.items()), func.sum(spend.c.usd).label("usd"))
    each = query.select_from(joined).where(spend.c.day >= first_day, *visible).group_by(*names.values()).cte()
    of_day = each.c.day, each.c.agent, each.c.payer
    sums = [select(literal("day"), *of_day, func.sum(each.c.usd)).group_by(*of_day)]
    for by in SHARED_BY:
        name = each.c[by]
        sums.append(select(literal(by), name, literal(""), literal(""), func.sum(each.c.usd)).group_by(name))
    return sorted(_Sum(*row) for row in db.execute(union_all(*sums)))


def _shares(sums: Iterable[_Sum]) -> tuple[SpendShare, ...]:
    """Return the dollars by their names, the most first."""
    return tuple(sorted((SpendShare(it.name, it.usd) for it in sums), key=lambda share: -share.usd))


def _list_waits(
    db: Connection, since: datetime, now: datetime, whole: list[ColumnElement[bool]]
) -> tuple[tuple[CardWait, ...], tuple[float, ...]]:
    """Return the cards that waited longest in this time, and of all the seconds for people, workers, agents.

    A wait that goes on counts so far.
    """
    begin, end, condition = _within(since, now, whole)
    sums = [func.sum(case((waits.c.waits_for == who, end - begin), else_=0.0)) for who in WaitsFor]
    card = (cards.c.repository, cards.c.number, cards.c.title)
    joined = waits.join(cards, cards.c.card_id == waits.c.card_id)
    of_all = [func.sum(seconds).over() for seconds in sums]
    query = (
        select(*card, *sums, *of_all).select_from(joined).where(condition).group_by(cards.c.card_id, *card)
    )
    query = query.order_by(func.sum(end - begin).desc(), cards.c.card_id).limit(MAX_WAITS)
    rows = [tuple(row) for row in db.execute(query)]
    return tuple(CardWait(*row[:6]) for row in rows), rows[0][6:] if rows else (0.0, 0.0, 0.0)


def _within(
    since: datetime, now: datetime, whole: list[ColumnElement[bool]]
) -> tuple[ColumnElement[float], ColumnElement[float], ColumnElement[bool]]:
    """Return begin and end of waits as far as they are in this time, and that they are."""
    first_s, last_s = since.timestamp(), now.timestamp()
    begin = case((waits.c.began_s < first_s, first_s), else_=waits.c.began_s)
    end = case((waits.c.ended_s > last_s, last_s), else_=waits.c.ended_s)
    return begin, end, and_(waits.c.ended_s > first_s, waits.c.began_s < last_s, *whole)


def _waits_by_day(
    db: Connection, since: datetime, now: datetime, whole: list[ColumnElement[bool]]
) -> tuple[DayWaits, ...]:
    """Return the waits of each day; those with the same first and last day are read as one sum."""
    begin, end, condition = _within(since, now, whole)
    joined = waits.join(cards, cards.c.card_id == waits.c.card_id)
    begun = select(waits.c.waits_for.label("who"), begin.label("begin"), end.label("end"))
    it = begun.select_from(joined).where(condition).subquery().c
    # The day's number. Midnight may count as the day before: the seconds of a day stay the same.
    days = select(
        it.who,
        func.round(it.begin / DAY_S - 0.5).label("first"),
        func.round(it.end / DAY_S - 0.5).label("last"),
        it.begin,
        it.end,
    )
    of = days.subquery().c
    sums = select(of.who, of.first, of.last, func.sum(of.begin), func.sum(of.end), func.count())
    by_day: dict[int, dict[WaitsFor, float]] = {}
    for who, first, last, begins_s, ends_s, number in db.execute(sums.group_by(of.who, of.first, of.last)):
        for day in range(int(first), int(last) + 1):
            begins = begins_s if day == first else number * day * DAY_S
            ends = ends_s if day == last else number * (day + 1) * DAY_S
            seconds = by_day.setdefault(day, dict.fromkeys(WaitsFor, 0.0))
            seconds[WaitsFor(who)] += ends - begins
    days_of = ((date.fromordinal(EPOCH + day).isoformat(), by_day[day]) for day in sorted(by_day))
    return tuple(DayWaits(day, *seconds.values()) for day, seconds in days_of if any(seconds.values()))


def _counts(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
