"""Cards for people who may see some repositories: by lane, that is by who has to act next, and by column."""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, case, func, or_, select, type_coerce

from ledger.ids import BoardId, CardId, RunId
from ledger.states import CardState
from ledger.views.cards import cards
from ledger.views.runs import runs

MAX_CARDS = 500  # of all lanes together


class Lane(StrEnum):
    """A lane, as people read it."""

    NEEDS_YOU = "Needs you"
    WORKING = "Working"
    IN_REVIEW = "In review"
    READY = "Ready to merge"
    STUCK = "Stuck"


S = CardState
LANES: Mapping[CardState, Lane] = {
    S.NEEDS_INPUT: Lane.NEEDS_YOU,
    S.QUEUED: Lane.WORKING,
    S.WORKING: Lane.WORKING,
    S.REVISING: Lane.WORKING,
    S.WORK_COMPLETE: Lane.IN_REVIEW,
    S.IN_REVIEW: Lane.IN_REVIEW,
    S.CHANGES_REQUESTED: Lane.IN_REVIEW,
    S.APPROVED: Lane.READY,
    S.FAILED: Lane.STUCK,
    S.BLOCKED: Lane.STUCK,
}
_FROM = cards.outerjoin(runs, runs.c.run_id == cards.c.run_id)
_STATE = type_coerce(cards.c.state, Text)
_FIELDS = (
    cards.c.card_id, cards.c.repository, cards.c.number, cards.c.title, cards.c.column, _STATE,
    cards.c.because, cards.c.state_at, cards.c.mover, cards.c.run_id, runs.c.by, runs.c.usd,
)  # fmt: skip
# Who waits for a person comes first, then what is at work, then the rest: as the lanes have it.
_ORDER = case({state.value: place for place, state in enumerate(LANES)}, value=_STATE, else_=len(LANES))


class ListedCard(NamedTuple):
    """A card in a list. `mover` put it where it stands; the last three are of its newest run, or None."""

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

    @property
    def people(self) -> tuple[str, ...]:
        """Who asked for the run and who moved the card: the first ones to act."""
        return tuple(dict.fromkeys(filter(None, (self.by, self.mover))))


def repositories(db: Connection, board_id: BoardId) -> dict[str, datetime]:
    """Return every repository of the board's cards and of their newest runs, with its oldest card's time."""
    since = func.min(cards.c.created_at)
    oldest: dict[str, datetime] = {}
    for name in (cards.c.repository, runs.c.repository):
        query = select(name, since).select_from(_FROM).where(_on(board_id), name.is_not(None), name != "")
        for repository, at in db.execute(query.group_by(name)):
            oldest[repository] = min(at, oldest.get(repository, at))
    return oldest


def in_lanes(
    db: Connection, board_id: BoardId, seen: Collection[str], *, drafts: bool
) -> dict[Lane, list[ListedCard]]:
    """Return the board's cards that are in a lane and only about repositories in `seen`, those that wait for
    longest first; `drafts` with those that are no issue yet.
    """
    query = _listed(board_id, seen, drafts).where(cards.c.state.in_(tuple(LANES)))
    by_lane: dict[Lane, list[ListedCard]] = {lane: [] for lane in Lane}
    for row in db.execute(query.order_by(_ORDER, cards.c.state_at).limit(MAX_CARDS)):
        card = ListedCard(*row)
        by_lane[LANES[CardState(card.state)]].append(card)
    return by_lane


def of_column(
    db: Connection, board_id: BoardId, column: str, seen: Collection[str], *, drafts: bool, limit: int
) -> tuple[ListedCard, ...]:
    """Return the column's cards as `in_lanes` does: those that need somebody first, then from the top."""
    query = _listed(board_id, seen, drafts).where(cards.c.column == column)
    rows = db.execute(query.order_by(_ORDER, cards.c.rank, cards.c.card_id).limit(limit))
    return tuple(ListedCard(*row) for row in rows)


def counts(
    db: Connection, board_id: BoardId, seen: Collection[str], *, drafts: bool
) -> dict[str, dict[CardState, int]]:
    """Return how many cards of each state stand in each column, of those that `in_lanes` would consider."""
    query = select(cards.c.column, cards.c.state, func.count()).select_from(_FROM)
    by_column: dict[str, dict[CardState, int]] = {}
    visible = query.where(_on(board_id), _visible(seen, drafts)).group_by(cards.c.column, cards.c.state)
    for column, state, count in db.execute(visible):
        by_column.setdefault(column or "", {})[state] = count
    return by_column


def _listed(board_id: BoardId, seen: Collection[str], drafts: bool) -> Select[Any]:
    return select(*_FIELDS).select_from(_FROM).where(_on(board_id), _visible(seen, drafts))


def _on(board_id: BoardId) -> ColumnElement[bool]:
    return and_(cards.c.board_id == board_id, ~cards.c.archived)


def _visible(seen: Collection[str], drafts: bool) -> ColumnElement[bool]:
    """Limit to cards whose own repository and that of whose work are both in `seen`."""
    names = tuple(seen)
    own = cards.c.repository.in_(names)
    no_work = or_(runs.c.repository.is_(None), runs.c.repository == "")
    return and_(
        or_(own, cards.c.repository.is_(None)) if drafts else own, or_(no_work, runs.c.repository.in_(names))
    )
