"""Cards for people who may see some repositories: by lane, that is by who has to act next, and by column."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from operator import eq
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    case,
    false,
    func,
    literal,
    or_,
    select,
    type_coerce,
    union_all,
)

from ledger.db.rows import pad
from ledger.db.statements import Statement, is_among, kept
from ledger.ids import BoardId, CardId, RunId
from ledger.queries.card_filter import ALL, FROM, CardFilter, CardScope, in_sight, match_filter
from ledger.states import ATTENTION, CardState, Reason, RunState
from ledger.views.cards import cards
from ledger.views.questions import questions
from ledger.views.runs import runs


class Lane(StrEnum):
    """A lane, as people read it; those that wait for a person come first."""

    NEEDS_INPUT = "Needs input"
    NEEDS_OTHERS = "Needs others"  # as a person reads NEEDS_INPUT
    FAILED = "Failed"
    REVIEW = "To review"
    READY = "Ready to merge"
    WORKING = "Working"
    QUEUED = "Queued"
    BLOCKED = "Blocked"


S = CardState
Scopes = tuple[CardScope, ...]
LANES: Mapping[CardState, Lane] = {
    S.NEEDS_INPUT: Lane.NEEDS_INPUT,
    S.FAILED: Lane.FAILED,
    S.WORK_COMPLETE: Lane.REVIEW,
    S.CHANGES_REQUESTED: Lane.REVIEW,
    S.IN_REVIEW: Lane.REVIEW,
    S.APPROVED: Lane.READY,
    S.WORKING: Lane.WORKING,
    S.REVISING: Lane.WORKING,
    S.QUEUED: Lane.QUEUED,
    S.BLOCKED: Lane.BLOCKED,
}
# Cards that Cardinal moved after a failure to a column whose states are in no lane.
_MOVED_AFTER_FAILURE = is_among(cards.c.state, (S.DRAFT, S.DISCUSSING)) & (
    cards.c.reason == Reason.RUN_FAILED
)
WAITING_LANES = frozenset({Lane.NEEDS_OTHERS, *(LANES[state] for state in ATTENTION)})
PLAN = "plan"
_WILD = re.compile(r"[%_/]")  # in a pattern of SQL, and what stands before them to be taken literally
_WITH_PLAN = runs.c.state == RunState.AWAITING_APPROVAL
_SUBJECT = (
    select(questions.c.subject)
    .where(questions.c.run_id == runs.c.run_id, questions.c.answered_at.is_(None), ~questions.c.withdrawn)
    .order_by(questions.c.asked_at.desc(), questions.c.question_id)
    .limit(1)
    .scalar_subquery()
)
_WAITS_FOR = case((cards.c.state != S.NEEDS_INPUT, ""), (_WITH_PLAN, PLAN), else_=func.coalesce(_SUBJECT, ""))
_ASKED_ABOUT = cards.c.board_id, func.coalesce(cards.c.repository, ""), _WAITS_FOR
_OF_RUN = {
    "by": cards.c.asked_by,
    "usd": runs.c.usd,
    "payer": runs.c.payer,
    "waits_for": _WAITS_FOR,
    "last_line": runs.c.last_line,
}
_IN_LANE_ORDER = case(
    {state: position for position, state in enumerate(LANES)},
    value=cards.c.state,
    else_=list(LANES).index(S.FAILED),
)


class ListedCard(NamedTuple):
    """A card in a list. `mover` put it where it stands; the fields below are of its newest run.

    `waits_for` is PLAN or the subject of the run's open question; empty where no run waits for a person.
    """

    card_id: CardId
    repository: str | None
    number: int | None
    title: str
    column: str | None
    state: CardState
    because: str
    state_at: datetime
    mover: str
    run_id: RunId | None
    by: str
    usd: float | None
    payer: str | None
    board_id: BoardId
    waits_for: str
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    reason: Reason = Reason.OTHER
    last_line: str | None = None

    @property
    def why(self) -> str:
        """Why it stands as it does; of one at work what its agent said last, as on GitHub's board."""
        works = self.state in (CardState.WORKING, CardState.REVISING)
        return (works and self.last_line) or self.because

    @property
    def people(self) -> tuple[str, ...]:
        """Who asked for the run, who moved the card, its issue's assignees, and the reviewers that its policy
        names where no person asked: the first ones to act.
        """
        return tuple(dict.fromkeys(filter(None, (self.by, self.mover, *self.assignees, *self.reviewers))))

    def is_own(self, login: str) -> bool:
        """Return whether the person is one of those."""
        return login.casefold() in {name.casefold() for name in self.people}


class Asked(NamedTuple):
    """What cards ask a person: of one board, in one repository or in none, about a plan or that subject."""

    board_id: BoardId
    repository: str
    waits_for: str


class SameCause(NamedTuple):
    """How many cards failed for one cause, the longest `since` then."""

    total: int
    since: datetime


@dataclass(frozen=True, slots=True)
class LanePart:
    """Cards of a lane to list: its own person's first, then by state and how long they wait.

    Those that ask what is `closed` to the person are another's, unless they are their own: the lane
    NEEDS_INPUT is without them, and NEEDS_OTHERS has them alone. `cause`: only cards whose run failed for
    it; `without`: for none of those.
    """

    lane: Lane
    limit: int
    offset: int = 0
    closed: frozenset[Asked] = frozenset()
    cause: str = ""
    without: tuple[str, ...] = ()


def lane_of(state: str, reason: Reason) -> Lane | None:
    """Return the lane of a card in that state for that reason; None where it is in none."""
    lane = LANES.get(CardState(state)) if state else None
    return Lane.FAILED if lane is None and reason is Reason.RUN_FAILED else lane


def repositories(db: Connection, board_id: BoardId) -> dict[str, datetime]:
    """Return every repository of the board's cards and of their newest runs, with its oldest card's time.

    Those of archived cards are among them: they are read on, and found by a filter.
    """
    return _oldest(db, board_id, _ISSUES, _NEWEST_WORKS)


def repositories_ever(db: Connection, board_id: BoardId) -> dict[str, datetime]:
    """Return every repository that a sum over the board may tell of, with its oldest card's time.

    Those of archived cards and of all runs are among them.
    """
    return _oldest(db, board_id, _ISSUES, _ALL_WORKS)


def _oldest_by(name: Column[Any], since: Column[Any]) -> Statement:
    """Select each name on a board with its oldest moment: by an index of them, step by step, for rows with
    the same name are many.
    """
    mine = name.table.c.board_id == bindparam("board_id")
    first = select(func.min(name).label("name")).where(mine, name > "").cte(recursive=True)
    following = select(func.min(name)).where(mine, name > first.c.name).scalar_subquery()
    names = first.union_all(select(following).where(first.c.name.is_not(None)))
    oldest = select(func.min(since)).where(mine, name == names.c.name).scalar_subquery()
    return Statement(select(names.c.name, oldest).where(names.c.name.is_not(None)))


_ISSUES = _oldest_by(cards.c.repository, cards.c.created_at)
_NEWEST_WORKS = _oldest_by(cards.c.work_repository, cards.c.created_at)
_ALL_WORKS = _oldest_by(runs.c.repository, runs.c.card_created_at)


def _oldest(db: Connection, board_id: BoardId, *by_name: Statement) -> dict[str, datetime]:
    oldest = dict[str, datetime]()
    for statement in by_name:
        for repository, at in statement.all(db, {"board_id": board_id}):
            oldest[repository] = min(at, oldest.get(repository, at))
    return oldest


def lane_totals(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> Mapping[Lane, int]:
    """Return how many cards are in each lane that has any; none in NEEDS_OTHERS, which is a person's."""
    totals = Counter[Lane]()
    for state, count in _count_by_state(db, scopes, card_filter, tuple(LANES)).items():
        totals[LANES[state]] += count
    return totals


def count_asked(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter, login: str
) -> Mapping[Asked, int]:
    """Return how many runs of cards in the lane NEEDS_INPUT that are not the person's own ask for each."""
    asked = _count_asked(tuple(scopes), card_filter, bool(login)).all(db, _name_person(login))
    return {Asked(*about): count for *about, count in asked}


@kept
def _count_asked(scopes: Scopes, card_filter: CardFilter, of_person: bool) -> Select[Any]:
    query = select(*_ASKED_ABOUT, func.count()).group_by(*_ASKED_ABOUT)
    query = query.select_from(cards.join(runs, runs.c.run_id == cards.c.run_id))
    return query.where(cards.c.state == S.NEEDS_INPUT, ~_is_own(of_person), *_are_listed(scopes, card_filter))


def count_causes(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> Mapping[str, SameCause]:
    """Return each cause that several cards failed for, by the longest wait."""
    counts, since = Counter[str](), dict[str, datetime]()
    for after_failure in (False, True):  # each has the index of states
        for cause, count, at in _count_causes(tuple(scopes), card_filter, after_failure).all(db, {}):
            counts[cause] += count
            since[cause] = min(at, since.get(cause, at))
    shared = sorted((since[cause], cause) for cause, count in counts.items() if count > 1)
    return {cause: SameCause(counts[cause], at) for at, cause in shared}


@kept
def _count_causes(scopes: Scopes, card_filter: CardFilter, after_failure: bool) -> Select[Any]:
    condition = _MOVED_AFTER_FAILURE if after_failure else cards.c.state == S.FAILED
    query = select(cards.c.cause, func.count(), func.min(cards.c.state_at)).group_by(cards.c.cause)
    return query.where(cards.c.cause != "", condition, *_are_listed(scopes, card_filter))


def list_parts(
    db: Connection,
    scopes: Sequence[CardScope],
    parts: Sequence[LanePart],
    card_filter: CardFilter = ALL,
    *,
    login: str = "",
) -> list[list[ListedCard]]:
    """Return the cards of each part; those of the person with that login are their own."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in parts]
    if any(part.lane is not Lane.NEEDS_OTHERS or part.closed for part in parts):
        query = _select_parts(tuple(scopes), tuple(parts), card_filter, bool(login))
        for place, *order in query.all(db, _name_person(login)):
            found[place].append(tuple(order))
    ids = [
        [card_id for *_, card_id in sorted(its)[part.offset : part.offset + part.limit]]
        for part, its in zip(parts, found, strict=True)
    ]
    listed = tuple({card_id for its in ids for card_id in its})
    names = {f"card_{position}": card_id for position, card_id in enumerate(pad(listed))}
    rows = _select_listed(len(names)).all(db, names) if listed else ()
    known = {card.card_id: card for card in map(ListedCard._make, rows)}
    return [[known[card_id] for card_id in its] for its in ids]


@cache
def _select_listed(count: int) -> Statement:
    names = [bindparam(f"card_{position}", type_=cards.c.card_id.type) for position in range(count)]
    return Statement(_select_cards().where(cards.c.card_id.in_(names)))


@kept
def _select_parts(
    scopes: Scopes, parts: tuple[LanePart, ...], card_filter: CardFilter, of_person: bool
) -> CompoundSelect[Any]:
    """Select the place of each part with what `_select_part` selects; whose cards are own is a parameter."""
    return union_all(
        *(
            select(literal(place), *query.subquery().c)
            for place, part in enumerate(parts)
            for query in _select_part(part, scopes, card_filter, of_person)
        )
    )


def _select_part(
    part: LanePart, scopes: Scopes, card_filter: CardFilter, of_person: bool
) -> Iterator[Select[Any]]:
    """Select by what they are ordered the first cards of a part, each query by its own range of an index."""
    if part.lane is Lane.NEEDS_OTHERS and not part.closed:
        return
    own = _is_own(of_person)
    order = case((own, 0), else_=1), _IN_LANE_ORDER, cards.c.state_at, cards.c.card_id
    query = select(*order).where(*_are_listed(scopes, card_filter))
    if part.closed:
        closed = (and_(*map(eq, _ASKED_ABOUT, asked)) for asked in sorted(part.closed))
        theirs = ~own & or_(*closed)
        query = query.select_from(FROM).where(theirs if part.lane is Lane.NEEDS_OTHERS else ~theirs)
    if part.cause:
        query = query.where(cards.c.cause == part.cause)
    if part.without and part.lane is Lane.FAILED:
        query = query.where(~is_among(cards.c.cause, part.without))
    for condition in _conditions_of(part.lane):
        yield query.where(condition).order_by(*order).limit(part.offset + part.limit)


def _conditions_of(lane: Lane) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of which one holds for each card of the lane; an index has a range for each."""
    if lane is Lane.NEEDS_OTHERS:
        lane = Lane.NEEDS_INPUT
    yield is_among(cards.c.state, [state for state, its in LANES.items() if its is lane])
    if lane is Lane.FAILED:
        yield _MOVED_AFTER_FAILURE


def _are_listed(
    scopes: Sequence[CardScope], card_filter: CardFilter
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return in_sight(scopes, archived=card_filter.archived), match_filter(card_filter)


def _is_own(of_person: bool) -> ColumnElement[bool]:
    """Return the condition that `ListedCard.is_own` says of the person in the parameters: databases tell case
    apart.
    """
    if not of_person:
        return false()
    name, named = bindparam("login", type_=Text), bindparam("named", type_=Text)
    lists = (func.lower(type_coerce(it, Text)) for it in (cards.c.assignees, cards.c.reviewers))
    in_lists = (it.like(named, escape="/") for it in lists)
    return or_(func.lower(cards.c.asked_by) == name, func.lower(cards.c.mover) == name, *in_lists)


def _name_person(login: str) -> dict[str, str]:
    """Return the parameters of `_is_own`."""
    name = login.casefold()
    pattern = _WILD.sub(r"/\g<0>", json.dumps(name))
    return {"login": name, "named": f"%{pattern}%"}


def of_column(
    db: Connection,
    scopes: Sequence[CardScope],
    column: str | None,
    card_filter: CardFilter = ALL,
    *,
    limit: int | None = None,
    offset: int = 0,
) -> tuple[ListedCard, ...]:
    """Return the column's cards: those that need somebody first, then from the top. None is for no column."""
    return _rows(db, _of_column(tuple(scopes), column, card_filter, limit, offset))


@kept
def _of_column(
    scopes: Scopes, column: str | None, card_filter: CardFilter, limit: int | None, offset: int
) -> Select[Any]:
    first = select(cards.c.card_id).where(*_are_listed(scopes, card_filter), cards.c.column == column)
    order = cards.c.need, cards.c.rank, cards.c.card_id
    first = first.order_by(*order).limit(limit).offset(offset)
    return _select_cards().where(cards.c.card_id.in_(first)).order_by(*order)


def newest(
    db: Connection,
    scopes: Sequence[CardScope],
    card_filter: CardFilter = ALL,
    *,
    column: str | None = None,
    after: tuple[datetime, CardId] | None = None,
    limit: int,
) -> tuple[ListedCard, ...]:
    """Return cards by the time of their state, the newest first; those behind the place `after` if given."""
    return _rows(db, _newest(tuple(scopes), card_filter, column, after, limit))


@kept
def _newest(
    scopes: Scopes,
    card_filter: CardFilter,
    column: str | None,
    after: tuple[datetime, CardId] | None,
    limit: int,
) -> Select[Any]:
    query = _select_cards().where(*_are_listed(scopes, card_filter))
    if column is not None:
        query = query.where(cards.c.column == column)
    if after is not None:
        at, card_id = after
        behind = (cards.c.state_at == at) & (cards.c.card_id > card_id)
        query = query.where((cards.c.state_at < at) | behind)
    return query.order_by(cards.c.state_at.desc(), cards.c.card_id).limit(limit)


def lane_place(card: ListedCard) -> tuple[datetime, CardId]:
    return card.state_at, card.card_id


def lane_counts(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> dict[str | None, dict[CardState, int]]:
    """Return how many cards of each state stand in each column; None is for no column."""
    by_column: dict[str | None, dict[CardState, int]] = {}
    for state, _, column, count in _lane_counts(tuple(scopes), card_filter).all(db, {}):
        counts = by_column.setdefault(column, {})
        counts[state] = counts.get(state, 0) + count
    return by_column


@kept
def _lane_counts(scopes: Scopes, card_filter: CardFilter) -> Select[Any]:
    kinds = cards.c.state, cards.c.reason, cards.c.column  # in this order by their index
    return select(*kinds, func.count()).where(*_are_listed(scopes, card_filter)).group_by(*kinds)


def count_waiting_cards(db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL) -> int:
    """Return how many cards wait for a person: the one count of inbox, pages, boards and API."""
    return sum(waiting_by_state(db, scopes, card_filter).values())


def waiting_by_state(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> dict[CardState, int]:
    """Return how many cards of each state wait for a person. Those that Cardinal moved after a failure count
    as failed.
    """
    return _count_by_state(db, scopes, card_filter, ATTENTION)


def _count_by_state(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter, states: Collection[CardState]
) -> dict[CardState, int]:
    """Return how many cards are in each of the states, with those that Cardinal moved after a failure."""
    counts = Counter[CardState]()
    for among in (tuple(states), None):
        for state, count in _count_states(tuple(scopes), card_filter, among).all(db, {}):
            counts[state if state in states else S.FAILED] += count
    return dict(counts)


@kept
def _count_states(
    scopes: Scopes, card_filter: CardFilter, states: tuple[CardState, ...] | None
) -> Select[Any]:
    """Count cards of these states, or those that were moved after a failure: each has the index of states."""
    condition = _MOVED_AFTER_FAILURE if states is None else is_among(cards.c.state, states)
    query = select(cards.c.state, func.count()).group_by(cards.c.state)
    return query.where(condition, *_are_listed(scopes, card_filter))


def _select_cards() -> Select[Any]:
    fields = (_OF_RUN[name] if name in _OF_RUN else cards.c[name] for name in ListedCard._fields)
    return select(*fields).select_from(FROM)


def _rows(db: Connection, query: Statement) -> tuple[ListedCard, ...]:
    return tuple(map(ListedCard._make, query.all(db, {})))
