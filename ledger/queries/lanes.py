"""Cards for people who may see some repositories: by lane, that is by who has to act next, and by column."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    bindparam,
    case,
    func,
    null,
    select,
    union_all,
)

from ledger.db.statements import Statement, is_among, kept
from ledger.events.run import BY_PEOPLE
from ledger.ids import BoardId, CardId, RunId
from ledger.queries.card_filter import (
    ALL,
    FROM,
    NEED,
    STATE,
    CardFilter,
    CardScope,
    in_sight,
    match_filter,
)
from ledger.states import ATTENTION, CardState, Reason, RunState
from ledger.views.cards import cards
from ledger.views.questions import questions
from ledger.views.runs import runs


class Lane(StrEnum):
    """A lane, as people read it; those that wait for a person come first."""

    NEEDS_INPUT = "Needs input"
    NEEDS_OTHERS = "Needs others"  # for_person alone puts cards there
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
_MOVED_AFTER_FAILURE = (cards.c.reason == Reason.RUN_FAILED) & is_among(
    cards.c.state, (S.DRAFT, S.DISCUSSING)
)
WAITING_LANES = frozenset({Lane.NEEDS_OTHERS, *(LANES[state] for state in ATTENTION)})
PLAN = "plan"
_FIELDS = cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title, cards.c.column, STATE
_MORE_FIELDS = cards.c.state_at, cards.c.mover, cards.c.run_id, runs.c.by, runs.c.usd, runs.c.payer
_CAUSE = case(((cards.c.state == S.FAILED) | _MOVED_AFTER_FAILURE, func.coalesce(runs.c.cause, "")), else_="")
_BY_A_PERSON = is_among(runs.c.door, BY_PEOPLE) & (runs.c.by != "") & runs.c.by.not_like("%[bot]")
_WITH_PLAN = runs.c.state == RunState.AWAITING_APPROVAL
_SUBJECT = (
    select(questions.c.subject)
    .where(questions.c.run_id == runs.c.run_id, questions.c.answered_at.is_(None), ~questions.c.withdrawn)
    .order_by(questions.c.asked_at.desc(), questions.c.question_id)
    .limit(1)
    .scalar_subquery()
)
_WAITS_FOR = case((cards.c.state != S.NEEDS_INPUT, ""), (_WITH_PLAN, PLAN), else_=func.coalesce(_SUBJECT, ""))
_UNASKED = case((_BY_A_PERSON, null()), else_=runs.c.settings)
# In lanes by what each has first; elsewhere who waits for a person comes first, then all others.
_BY_LANE = case(
    (_MOVED_AFTER_FAILURE, list(LANES).index(S.FAILED)),
    *((cards.c.state == state, position) for position, state in enumerate(LANES)),
)
_BY_NEED = case(NEED, value=STATE, else_=len(NEED))


class ListedCard(NamedTuple):
    """A card in a list. `mover` put it where it stands; the fields below are of its newest run, or None.

    `because` is empty where it would name an issue of a repository that is not in sight. `waits_for` is PLAN
    or the subject of the run's open question; empty where no run waits for a person. `cause` is the code of
    why the run failed where other cards may share that.
    """

    card_id: CardId
    repository: str | None
    number: int | None
    title: str
    column: str | None
    state: str
    because: str
    state_at: datetime
    mover: str
    run_id: RunId | None
    by: str | None
    usd: float | None
    payer: str | None
    board_id: BoardId
    waits_for: str
    cause: str = ""
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    reason: Reason = Reason.OTHER

    @property
    def people(self) -> tuple[str, ...]:
        """Who asked for the run, who moved the card, its issue's assignees, and the reviewers that its policy
        names where no person asked: the first ones to act.
        """
        return tuple(dict.fromkeys(filter(None, (self.by, self.mover, *self.assignees, *self.reviewers))))


@dataclass(frozen=True, slots=True)
class LaneCards:
    """A lane's cards, by state and how long they wait; `owned` has those of each login in small letters."""

    cards: list[ListedCard]
    owned: dict[str, list[ListedCard]]

    def of(self, login: str, *, limit: int, offset: int = 0) -> tuple[list[ListedCard], list[ListedCard]]:
        """Return the person's own cards, which come first, and others."""
        listed_cards = self.owned.get(login.casefold(), [])
        ids = {card.card_id for card in listed_cards}
        own_listed_cards = listed_cards[offset : offset + limit]
        others = (card for card in self.cards if card.card_id not in ids)
        begin = max(0, offset - len(listed_cards))
        return own_listed_cards, list(islice(others, begin, begin + limit - len(own_listed_cards)))


def lane_of(state: str, reason: Reason) -> Lane | None:
    """Return the lane of a card in that state for that reason; None where it is in none."""
    lane = LANES.get(CardState(state)) if state else None
    return Lane.FAILED if lane is None and reason is Reason.RUN_FAILED else lane


def repositories(db: Connection, board_id: BoardId) -> dict[str, datetime]:
    """Return every repository of the board's cards and of their newest runs, with its oldest card's time.

    Those of archived cards are among them: they are read on, and found by a filter.
    """
    return _oldest(db, board_id, _NEWEST)


def repositories_ever(db: Connection, board_id: BoardId) -> dict[str, datetime]:
    """Return every repository that a sum over the board may tell of, with its oldest card's time.

    Those of archived cards and of all runs are among them.
    """
    return _oldest(db, board_id, _EVER)


def _oldest_by(name: Column[Any], joined: FromClause) -> Select[Any]:
    mine = (cards.c.board_id == bindparam("board_id")) & (name != "")
    return select(name, func.min(cards.c.created_at)).select_from(joined).where(mine).group_by(name)


_ISSUES = _oldest_by(cards.c.repository, cards)
_NEWEST_WORKS = _oldest_by(runs.c.repository, cards.join(runs, runs.c.run_id == cards.c.run_id))
_ALL_WORKS = _oldest_by(runs.c.repository, cards.join(runs, runs.c.card_id == cards.c.card_id))
_NEWEST, _EVER = (Statement(union_all(_ISSUES, works)) for works in (_NEWEST_WORKS, _ALL_WORKS))


def _oldest(db: Connection, board_id: BoardId, by_name: Statement) -> dict[str, datetime]:
    oldest = dict[str, datetime]()
    for repository, at in by_name.all(db, {"board_id": board_id}):
        oldest[repository] = min(at, oldest.get(repository, at))
    return oldest


def by_lane(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> Mapping[Lane, LaneCards]:
    listed = {lane: LaneCards([], {}) for lane in Lane}
    for card in _rows(db, _by_lane(tuple(scopes), card_filter)):
        lane = listed[LANES.get(CardState(card.state), Lane.FAILED)]
        lane.cards.append(card)
        for login in {name.casefold() for name in card.people}:
            lane.owned.setdefault(login, []).append(card)
    return listed


def for_person(
    by: Mapping[Lane, LaneCards], login: str, may_answer: Callable[[ListedCard], bool]
) -> Mapping[Lane, LaneCards]:
    """Return the lanes as the person reads them: others' cards that only others may answer stand apart."""
    needs = by[Lane.NEEDS_INPUT]
    listed_cards = needs.owned.get(login.casefold(), [])
    ids = {card.card_id for card in listed_cards}
    parted: tuple[list[ListedCard], list[ListedCard]] = [], []
    for card in needs.cards:
        parted[card.card_id not in ids and not may_answer(card)].append(card)
    yours, theirs = parted
    return {
        **by,
        Lane.NEEDS_INPUT: LaneCards(yours, {login.casefold(): listed_cards}),
        Lane.NEEDS_OTHERS: LaneCards(theirs, {}),
    }


def by_cause(failed: LaneCards) -> tuple[list[list[ListedCard]], LaneCards]:
    """Return the cards that failed for the same cause as another, cause by cause; and all others."""
    of_cause: dict[str, list[ListedCard]] = {}
    for card in failed.cards:
        of_cause.setdefault(card.cause, []).append(card)
    same = [cards for cause, cards in of_cause.items() if cause and len(cards) > 1]
    ids = {card.card_id for cards in same for card in cards}
    parts = (failed.cards, *failed.owned.values())
    listed_cards, *owned = ([card for card in part if card.card_id not in ids] for part in parts)
    return same, LaneCards(listed_cards, dict(zip(failed.owned, owned, strict=True)))


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
    return _rows(db, _of_column(tuple(scopes), column, card_filter, limit=limit, offset=offset))


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


def lane_place(card: ListedCard) -> tuple[datetime, CardId]:
    return card.state_at, card.card_id


def lane_counts(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> dict[str | None, dict[CardState, int]]:
    """Return how many cards of each state stand in each column; None is for no column."""
    by_column: dict[str | None, dict[CardState, int]] = {}
    for column, state, count in _lane_counts(tuple(scopes), card_filter).all(db, {}):
        by_column.setdefault(column, {})[state] = count
    return by_column


def count_waiting_cards(db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL) -> int:
    """Return how many cards wait for a person: the one count of inbox, pages, boards and API."""
    return sum(waiting_by_state(db, scopes, card_filter).values())


def waiting_by_state(
    db: Connection, scopes: Sequence[CardScope], card_filter: CardFilter = ALL
) -> dict[CardState, int]:
    """Return how many cards of each state wait for a person. Those that Cardinal moved after a failure count
    as failed.
    """
    waiting = Counter[CardState]()
    for after_failure in (False, True):  # each has the index of states
        query = _waiting_by_state(tuple(scopes), card_filter, after_failure=after_failure)
        for state, count in query.all(db, {}):
            waiting[state if state in ATTENTION else S.FAILED] += count
    return dict(waiting)


@kept
def _by_lane(scopes: Scopes, card_filter: CardFilter) -> Select[Any]:
    in_lane = is_among(cards.c.state, LANES) | _MOVED_AFTER_FAILURE
    query = _select_lane(scopes, card_filter).where(in_lane)
    return query.order_by(_BY_LANE, cards.c.state_at, cards.c.card_id)


@kept
def _of_column(
    scopes: Scopes, column: str | None, card_filter: CardFilter, *, limit: int | None, offset: int
) -> Select[Any]:
    query = _select_lane(scopes, card_filter).where(cards.c.column == column)
    return query.order_by(_BY_NEED, cards.c.rank, cards.c.card_id).limit(limit).offset(offset)


@kept
def _newest(
    scopes: Scopes,
    card_filter: CardFilter,
    column: str | None,
    after: tuple[datetime, CardId] | None,
    limit: int,
) -> Select[Any]:
    query = _select_lane(scopes, card_filter)
    if column is not None:
        query = query.where(cards.c.column == column)
    if after is not None:
        at, card_id = after
        behind = (cards.c.state_at == at) & (cards.c.card_id > card_id)
        query = query.where((cards.c.state_at < at) | behind)
    return query.order_by(cards.c.state_at.desc(), cards.c.card_id).limit(limit)


@kept
def _lane_counts(scopes: Scopes, card_filter: CardFilter) -> Select[Any]:
    return _select_seen(scopes, card_filter, cards.c.column, cards.c.state, func.count()).group_by(
        cards.c.column, cards.c.state
    )


@kept
def _waiting_by_state(scopes: Scopes, card_filter: CardFilter, *, after_failure: bool) -> Select[Any]:
    condition = _MOVED_AFTER_FAILURE if after_failure else is_among(cards.c.state, ATTENTION)
    query = _select_seen(scopes, card_filter, cards.c.state, func.count())
    return query.where(condition).group_by(cards.c.state)


def _select_lane(scopes: Scopes, card_filter: CardFilter) -> Select[Any]:
    fields = (*_FIELDS, cards.c.because, *_MORE_FIELDS, cards.c.board_id, _WAITS_FOR, _CAUSE, _UNASKED)
    return _select_seen(scopes, card_filter, *fields, cards.c.assignees, cards.c.reason)


def _select_seen(scopes: Scopes, card_filter: CardFilter, *fields: ColumnElement[Any]) -> Select[Any]:
    seen = in_sight(scopes, archived=card_filter.archived)
    return select(*fields).select_from(FROM).where(seen, match_filter(card_filter))


def _rows(db: Connection, query: Statement) -> tuple[ListedCard, ...]:
    listed = query.all(db, {})
    return tuple(
        ListedCard._make((*card, _reviewers(settings) if settings else (), assignees, reason))
        for *card, settings, assignees, reason in listed
    )


@lru_cache  # thousands of runs have the same settings
def _reviewers(settings: str) -> tuple[str, ...]:
    return tuple(json.loads(settings).get("reviewers") or ())
