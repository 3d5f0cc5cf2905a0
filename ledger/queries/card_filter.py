"""Which cards a list is about: those that somebody may see, and of them those that were asked for."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    cast,
    exists,
    false,
    or_,
    select,
    true,
    type_coerce,
)

from ledger.db.statements import is_among
from ledger.ids import BoardId
from ledger.states import ATTENTION, CardState
from ledger.views.cards import cards
from ledger.views.runs import PLAYER, runs
from ledger.views.subscriptions import subscriptions

FROM = cards.outerjoin(runs, runs.c.run_id == cards.c.run_id)
STATE = type_coerce(cards.c.state, Text)
# In which order cards come that wait for a person; all others come behind.
NEED: Mapping[str, int] = {state.value: position for position, state in enumerate(ATTENTION)}
_LISTS = _LABELS, _ASSIGNEES = type_coerce(cards.c.labels, Text), type_coerce(cards.c.assignees, Text)
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


def choices(db: Connection, scopes: Sequence[CardScope], *, archived: bool = False) -> CardChoices:
    """Return the repositories, people and labels of all cards in sight."""
    seen = in_sight(scopes, archived=archived)

    def values(*columns: ColumnElement[str]) -> list[set[str]]:
        """Return what stands in each of the columns."""
        rows = db.execute(select(*columns).select_from(FROM).where(seen).distinct()).all()
        return [{row[at] for row in rows if row[at]} for at in range(len(columns))]

    issues, movers, *lists = values(cards.c.repository, cards.c.mover, *_LISTS)
    works, askers, agents, players = values(runs.c.repository, runs.c.by, runs.c.agent, PLAYER)
    labels, assignees = ({it for stored in column for it in json.loads(stored)} for column in lists)
    return CardChoices(
        repositories=sort_names(issues | works),
        people=sort_names(movers | askers | assignees),
        labels=sort_names(labels),
        agents=sort_names(agents | players),
    )


def in_sight(scopes: Sequence[CardScope], *, archived: bool = False) -> ColumnElement[bool]:
    """Return the condition that a card is on one of these boards, or was, and may be seen there."""
    return and_(cards.c.archived if archived else ~cards.c.archived, or_(false(), *map(within, scopes)))


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
    no_work = or_(runs.c.repository.is_(None), runs.c.repository == "")
    return and_(
        on_board,
        or_(own, cards.c.repository.is_(None)) if scope.drafts else own,
        or_(no_work, is_among(runs.c.repository, names)),
    )


def _conditions(card_filter: CardFilter) -> Iterator[ColumnElement[bool]]:
    # A card may have left before rules said so.
    if card_filter.state is not None and not card_filter.archived:
        yield cards.c.state == card_filter.state
    if card_filter.repositories:
        names = card_filter.repositories
        yield or_(is_among(cards.c.repository, names), is_among(runs.c.repository, names))
    if card_filter.people:
        assigned = (_has(_ASSIGNEES, login) for login in card_filter.people)
        yield or_(
            is_among(cards.c.mover, card_filter.people), is_among(runs.c.by, card_filter.people), *assigned
        )
    if card_filter.labels:
        yield or_(*(_has(_LABELS, label) for label in card_filter.labels))
    if card_filter.agents:
        yield or_(is_among(runs.c.agent, card_filter.agents), is_among(PLAYER, card_filter.agents))
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
