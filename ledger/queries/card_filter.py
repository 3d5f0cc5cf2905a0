"""Which cards a list is about: those that somebody may see, and of them those that were asked for."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    cast,
    exists,
    false,
    or_,
    select,
    true,
    type_coerce,
    union_all,
)

from ledger.db.statements import is_among
from ledger.ids import BoardId
from ledger.states import CardState
from ledger.views.cards import cards
from ledger.views.runs import PLAYER, runs
from ledger.views.subscriptions import subscriptions

FROM = cards.outerjoin(runs, runs.c.run_id == cards.c.run_id)
# Of no index, so that a list goes through the runs in its order: most are of what is asked for.
_board_of_run, _repository_of_card = runs.c.board_id.concat(""), cards.c.repository.concat("")
MAX_LOOKED_AT = 500  # cards or runs that changed last, whose names a page suggests
_LISTS = LABELS, _ASSIGNEES = type_coerce(cards.c.labels, Text), type_coerce(cards.c.assignees, Text)
_NAME = cards.c.repository + "#" + cast(cards.c.number, Text)


@dataclass(frozen=True, slots=True)
class CardScope:
    """Somebody's view of a board: cards about the repositories in `seen`, or about any for None.

    `drafts`: those that are no issue yet, too.
    """

    board_id: BoardId
    seen: frozenset[str] | None = None
    drafts: bool = True


@dataclass(frozen=True, slots=True)
class CardFilter:
    """Cards that are asked for: all that is given must hold, and of several spellings one.

    `repositories`: of the issue, or of the newest run's work. `people` moved the card to its column or asked
    for that run, or its issue is theirs; one of `agents` plays that run. Each of `words` stands in the title,
    is the issue's number, or ends owner/name#number. `subscriber` follows the card. The state archived asks
    for cards that left the board.
    """

    state: CardState | None = None
    repositories: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    subscriber: str = ""
    agents: tuple[str, ...] = ()

    @property
    def archived(self) -> bool:
        """Whether it asks for cards that left the board."""
        return self.state is CardState.ARCHIVED


ALL = CardFilter()


@dataclass(frozen=True, slots=True)
class CardChoices:
    """Values to filter by, in order: none of a card that may not be seen."""

    repositories: tuple[str, ...]
    people: tuple[str, ...]
    labels: tuple[str, ...]
    agents: tuple[str, ...]


NO_CHOICES = CardChoices((), (), (), ())


def choices(
    db: Connection, scopes: Sequence[CardScope], *, archived: bool = False, newest: int | None = None
) -> CardChoices:
    """Return the repositories, people, labels and agents of all cards in sight, or of each board's newest."""
    seen = in_sight(scopes, archived=archived)
    if newest is not None and scopes:
        seen = cards.c.card_id.in_(union_all(*(_select_newest(it, archived, newest) for it in scopes)))

    def values(*columns: ColumnElement[str]) -> list[set[str]]:
        """Return what stands in each of the columns."""
        rows = db.execute(select(*columns).select_from(FROM).where(seen).distinct()).all()
        return [{row[at] for row in rows if row[at]} for at in range(len(columns))]

    issues, movers, *lists = values(cards.c.repository, cards.c.mover, *_LISTS)
    works, askers, agents, players = values(cards.c.work_repository, cards.c.asked_by, runs.c.agent, PLAYER)
    labels, assignees = ({it for stored in column for it in json.loads(stored)} for column in lists)
    return CardChoices(
        repositories=sort_names(issues | works),
        people=sort_names(movers | askers | assignees),
        labels=sort_names(labels),
        agents=sort_names(agents | players),
    )


def _select_newest(scope: CardScope, archived: bool, most: int) -> Select[Any]:
    mine = select(cards.c.card_id).where(in_sight([scope], archived=archived))
    return select(mine.order_by(cards.c.state_at.desc()).limit(most).subquery())


def in_sight(scopes: Sequence[CardScope], *, archived: bool = False) -> ColumnElement[bool]:
    """Return the condition that a card is on one of these boards, or was, and may be seen there."""
    there = cards.c.archived if archived else ~cards.c.archived
    on_boards = is_among(cards.c.board_id, {scope.board_id for scope in scopes})  # indexes begin with it
    return and_(on_boards, there, or_(false(), *map(within, scopes)))


def match_filter(card_filter: CardFilter) -> ColumnElement[bool]:
    """Return the condition that a card is among those asked for."""
    return and_(true(), *_conditions(card_filter))


def within(scope: CardScope) -> ColumnElement[bool]:
    """Limit to cards, archived ones too, whose own repository and that of whose work may both be seen."""
    on_board = cards.c.board_id == scope.board_id
    if scope.seen is None:
        return on_board
    names = tuple(scope.seen)
    own = is_among(cards.c.repository, names)
    return and_(
        on_board,
        or_(own, cards.c.repository.is_(None)) if scope.drafts else own,
        is_among(cards.c.work_repository, ("", *names)),
    )


def within_of_run(scope: CardScope) -> ColumnElement[bool]:
    """Limit to runs, joined with their cards, whose pages may be seen: their own repository and the card's
    both may, where there are any, and there is one.
    """
    on_board = _board_of_run == scope.board_id
    if scope.seen is None:
        return on_board
    names = tuple(scope.seen)
    no_work, no_issue = runs.c.repository == "", _repository_of_card.is_(None)
    return and_(
        on_board,
        or_(no_work, is_among(runs.c.repository, names)),
        or_(no_issue, is_among(_repository_of_card, names)),
        ~and_(no_work, no_issue),
    )


def _conditions(card_filter: CardFilter) -> Iterator[ColumnElement[bool]]:
    # A card may have left before rules said so.
    if card_filter.state is not None and not card_filter.archived:
        yield cards.c.state == card_filter.state
    if card_filter.repositories:
        names = card_filter.repositories
        yield or_(is_among(cards.c.repository, names), is_among(cards.c.work_repository, names))
    if card_filter.people:
        assigned = (_has(_ASSIGNEES, login) for login in card_filter.people)
        people = card_filter.people
        yield or_(is_among(cards.c.mover, people), is_among(cards.c.asked_by, people), *assigned)
    if card_filter.labels:
        yield or_(*(_has(LABELS, label) for label in card_filter.labels))
    if card_filter.agents:
        plays = or_(is_among(runs.c.agent, card_filter.agents), is_among(PLAYER, card_filter.agents))
        yield exists().where(runs.c.run_id == cards.c.run_id, plays).correlate(cards)
    if card_filter.subscriber:
        condition = subscriptions.c.name == card_filter.subscriber.casefold()
        yield exists().where(subscriptions.c.card_id == cards.c.card_id, condition)
    for word in card_filter.words:
        end = word if "#" in word else f"#{word}"
        titled = (cards.c.title.icontains(spelt, autoescape=True) for spelt in _cases(word))
        yield or_(_NAME.iendswith(end, autoescape=True), *titled)


def _cases(word: str) -> set[str]:
    """Return how a title may have the word: databases take no notice of case in ASCII alone."""
    return {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}


def _has(stored: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """Look for the name in the JSON list: at its beginning, or behind a comma, so in no other's quotes."""
    quoted = json.dumps(name)
    starts = stored.startswith(f"[{quoted}", autoescape=True)
    return or_(starts, stored.contains(f", {quoted}", autoescape=True))


def sort_names(names: Collection[str]) -> tuple[str, ...]:
    """Return them in the order in which people look for a name."""
    return tuple(sorted(names, key=lambda name: (name.casefold(), name)))
