"""Runs for people who may see some repositories: those that were asked for, newest first."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, false, func, or_, select

from ledger.db.rows import pick
from ledger.ids import CardId, RunId
from ledger.queries.card_filter import CardScope, sort_names, within_of_run
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending, RunState, RunStatus
from ledger.views.cards import cards
from ledger.views.runs import PLAYER, runs

_FROM = runs.join(cards, cards.c.card_id == runs.c.card_id)
_ASKS = (runs.c.state == RunState.PARKED) & (runs.c.question_id != "")
# As RunRow.status says it.
_HAS_STATUS: Mapping[RunStatus, ColumnElement[bool]] = {
    RunStatus.QUEUED: runs.c.state == RunState.QUEUED,
    RunStatus.WORKING: runs.c.state.in_(RUN_HELD),
    RunStatus.NEEDS_INPUT: (runs.c.state == RunState.AWAITING_APPROVAL) | _ASKS,
    RunStatus.PAUSED: (runs.c.state == RunState.PARKED) & ~_ASKS,
    **{RunStatus(ending): runs.c.ending == ending for ending in Ending},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Runs that are asked for: all that is given must hold, and of several spellings one.

    `repositories`: of the work, or of the issue. `people` asked for the run. `since`: queued then or later.
    """

    status: RunStatus | None = None
    repositories: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    since: datetime | None = None
    card_id: CardId | None = None


ALL = RunFilter()


@dataclass(frozen=True, slots=True)
class RunChoices:
    """Values to filter by, in order: none of a run that may not be seen."""

    repositories: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list, with what its card is and why that stands as it does."""

    run: RunRow
    repository: str | None
    number: int | None
    title: str
    because: str


class RunProgress(NamedTuple):
    """Of one run: who plays it, steps done and in all, and its budget in dollars; 0 where it has none."""

    agent: str
    done: int
    steps: int
    budget_usd: float


_RUN_FIELDS = len(fields(RunRow))


def newest(
    db: Connection,
    scopes: Sequence[CardScope],
    run_filter: RunFilter = ALL,
    *,
    after: RunId | None = None,
    offset: int = 0,
    limit: int,
) -> tuple[ListedRun, ...]:
    """Return runs, newest first; those behind the run `after` if given."""
    query = pick(RunRow, runs).add_columns(cards.c.repository, cards.c.number, cards.c.title, cards.c.because)
    query = _narrow(query, scopes, run_filter).order_by(runs.c.serial.desc())
    if after is not None:
        place = select(runs.c.serial).where(runs.c.run_id == after).scalar_subquery()
        query = query.where(runs.c.serial < place)
    stored = db.execute(query.limit(limit).offset(offset))
    return tuple(ListedRun(RunRow(*it[:_RUN_FIELDS]), *it[_RUN_FIELDS:]) for it in stored)


def count_runs(db: Connection, scopes: Sequence[CardScope], run_filter: RunFilter = ALL) -> int:
    """Return how many runs the list has in all."""
    return int(db.scalar(_narrow(select(func.count()), scopes, run_filter)) or 0)


def run_choices(db: Connection, scopes: Sequence[CardScope], newest: int | None = None) -> RunChoices:
    """Return the repositories, people, agents and reasons of all runs in sight, or of the `newest`."""
    named = (runs.c.repository, cards.c.repository, runs.c.by, runs.c.agent, PLAYER, runs.c.reason)
    query = _narrow(select(*named), scopes, ALL)
    newest_runs = query.order_by(runs.c.serial.desc()).limit(newest)
    found = set(db.execute(query.distinct() if newest is None else newest_runs))
    works, issues, people, agents, players, reasons = (
        {it for it in column if it} for column in (zip(*found, strict=True) if found else [()] * len(named))
    )
    return RunChoices(*map(sort_names, (works | issues, people, agents | players, reasons)))


def progress_of(db: Connection, run_ids: Collection[RunId]) -> Mapping[RunId, RunProgress]:
    """Return the progress of each of the runs."""
    columns = runs.c.run_id, PLAYER, runs.c.plan_done, runs.c.plan_steps, runs.c.settings
    found = db.execute(select(*columns).where(runs.c.run_id.in_(tuple(run_ids))))
    return {
        run_id: RunProgress(
            agent, done, len(steps), float(json.loads(settings or "{}").get("budget_usd") or 0)
        )
        for run_id, agent, done, steps, settings in found
    }


def _narrow(query: Select[Any], scopes: Sequence[CardScope], run_filter: RunFilter) -> Select[Any]:
    seen = or_(false(), *map(within_of_run, scopes))
    return query.select_from(_FROM).where(seen, *_conditions(run_filter))


def _conditions(run_filter: RunFilter) -> Iterator[ColumnElement[bool]]:
    if run_filter.status is not None:
        yield _HAS_STATUS[run_filter.status]
    if run_filter.repositories:
        yield or_(
            runs.c.repository.in_(run_filter.repositories), cards.c.repository.in_(run_filter.repositories)
        )
    for column, names in (
        (runs.c.by, run_filter.people),
        (runs.c.reason, run_filter.reasons),
    ):
        if names:
            yield column.in_(names)
    if run_filter.agents:
        yield or_(runs.c.agent.in_(run_filter.agents), PLAYER.in_(run_filter.agents))
    if run_filter.since is not None:
        yield runs.c.queued_at >= run_filter.since
    if run_filter.card_id is not None:
        yield runs.c.card_id == run_filter.card_id
