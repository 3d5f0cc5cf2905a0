"""Believes facts: looks up on GitHub what they need, then says which events they are.

The look-ups happen before the transaction; the makers run inside it and see what was recorded meanwhile: the
same thing told twice becomes one event.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from sqlalchemy import Connection

from bot.github.api import merge_queue as github_merges
from bot.github.api import projects as github_board
from bot.github.api import pulls, reviews, roles
from bot.github.errors import NotFoundError
from bot.ingest import comments, facts
from bot.ingest.errors import CardBusyError
from bot.sync import access, board, checks
from bot.sync import card as look
from ledger.event import Event
from ledger.events import pull as on_pull
from ledger.events.access import RepositoryMoved
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queue.change_reports import About
from ledger.queue.refresh_requests import Move
from ledger.views import cards, links, merges, placements, verdicts

if TYPE_CHECKING:
    from bot.bootstrap import Shop


MOST_DEPENDENTS = 500  # cards that are looked at because one issue changed; the sweep finds the others
Maker = Callable[[Connection], tuple[Event, ...]]


@dataclass(slots=True)
class Told:
    """What a delivery comes to: doorbells to ring, with the moves that it tells of, and events to make, in
    order.
    """

    bells: list[tuple[CardId, BoardId]] = field(default_factory=list)
    changes: list[tuple[CardId, facts.Change]] = field(default_factory=list)
    moves: dict[CardId, Move] = field(default_factory=dict)
    makers: list[Maker] = field(default_factory=list)

    def ring(self, card: cards.CardRow, change: facts.Change | None = None) -> None:
        """Ring for the card, and keep who changed what of it."""
        self.bells.append((card.card_id, card.board_id))
        if change is not None:
            self.changes.append((card.card_id, change))

    @property
    def rings(self) -> tuple[CardId, ...]:
        """The cards to look at, in order."""
        return tuple(card_id for card_id, _ in self.bells)


def gather(shop: "Shop", found: tuple[facts.Fact, ...]) -> Told:
    """Return what the facts come to; raises a GithubError when a look-up fails."""
    told = Told()
    for fact in found:
        match fact:
            case facts.CardRang():
                _rang(shop, fact, told)
            case facts.Unsaid():
                _unsaid(shop, fact, told)
            case facts.BlockerChanged():
                _ring_dependents(shop, fact, told)
            case facts.IssueFact():
                for card in cards_of(shop, fact.repository, fact.number):
                    _about_card(shop, fact, card, told)
                if isinstance(fact, facts.IssueShut | facts.IssueOpenedAgain):
                    _ring_dependents(shop, fact, told)
            case _:
                _about_repository(shop, fact, told)
    return told


def _about_repository(shop: "Shop", fact: facts.Fact, told: Told) -> None:
    match fact:
        case facts.Pushed():
            _pushed(shop, fact)
        case facts.AccessChanged():
            access.check(shop, thoroughly=True)
        case facts.Renamed():
            told.makers.append(_renamed(fact))
        case facts.ChecksMoved():
            _checks(shop, fact, told)
        case facts.ButtonPressed():
            _pressed(shop, fact, told)
        case facts.GroupMoved():
            _group_moved(shop, fact, told)
        case _:
            raise TypeError(f"no rule for the fact {type(fact).__name__}")


def _ring_dependents(shop: "Shop", fact: facts.IssueFact, told: Told) -> None:
    with event_store.reading(shop.engine) as db:
        for card_id in links.dependents(db, fact.repository, fact.number, MOST_DEPENDENTS):
            card = cards.get(db, card_id)
            if card is not None and not card.archived:
                told.bells.append((card_id, card.board_id))


def cards_of(shop: "Shop", repository: str, number: int) -> tuple[cards.CardRow, ...]:
    """Return the cards of an issue or of a pull request, asking GitHub for a card that was never seen."""
    known = _known(shop, repository, number)
    if not known:
        for card_id in github_board.cards_of_issue(shop.hub, repository, number):
            if not look.look(shop, card_id):
                raise CardBusyError(card_id)  # tried again when whoever reads it is done
        known = _known(shop, repository, number)
    return known


def _known(shop: "Shop", repository: str, number: int) -> tuple[cards.CardRow, ...]:
    with event_store.reading(shop.engine) as db:
        mine = cards.by_pull(db, repository, number)
        return (mine,) if mine else cards.of_issue(db, repository, number)


def _rang(shop: "Shop", fact: facts.CardRang, told: Told) -> None:
    if fact.board_id != (board.served(shop) or board.refresh(shop, *shop.config.board)):
        return  # a board of the organisation that Cardinal does not serve: it must cost no call
    told.bells.append((fact.card_id, fact.board_id))
    if fact.change is not None:
        told.changes.append((fact.card_id, fact.change))
    if fact.moved is not None:
        told.moves[fact.card_id] = fact.moved


def _pushed(shop: "Shop", fact: facts.Pushed) -> None:
    home = shop.config.home_repository
    if fact.touches_policy and fact.repository.casefold() == home.casefold():
        board.refresh(shop, shop.config.board_owner, shop.config.board_number)


def _renamed(fact: facts.Renamed) -> Maker:
    def make(db: Connection) -> tuple[Event, ...]:
        concerned = {card.board_id for card in placements.cards_in(db, fact.before)}
        return tuple(RepositoryMoved(board_id, fact.before, fact.after) for board_id in sorted(concerned))

    return make


def _unsaid(shop: "Shop", fact: facts.Unsaid, told: Told) -> None:
    for card in _known(shop, fact.repository, fact.number):  # of others it costs no call
        told.makers.append(comments.unsaid(fact, card))


def _checks(shop: "Shop", fact: facts.ChecksMoved, told: Told) -> None:
    with event_store.reading(shop.engine) as db:
        card = cards.by_head(db, fact.repository, fact.sha)
    if card is not None:
        told.makers.append(checks.look(shop, card))


def _pressed(shop: "Shop", fact: facts.ButtonPressed, told: Told) -> None:
    if not fact.app_id or fact.app_id != shop.config.app_id:
        return  # another App's check run, on which anything may stand
    with event_store.reading(shop.engine) as db:
        card = cards.get(db, CardId(fact.mark))
    if card is not None and card.pull_repository == fact.repository and not card.archived:
        told.makers += comments.pressed(shop, fact, card)


def _group_moved(shop: "Shop", fact: facts.GroupMoved, told: Told) -> None:
    with event_store.reading(shop.engine) as db:
        card = cards.by_pull(db, fact.repository, fact.number)
    if card is None or card.archived:
        return  # a pull request that Cardinal did not open: its gate never saw it
    card_id = card.card_id
    event = (
        on_pull.GroupGone(card_id, fact.number, fact.sha, fact.reason[:40])
        if fact.reason
        else on_pull.GroupFormed(card_id, fact.number, fact.sha)
    )
    told.makers.append(lambda _: (event,))


def _about_card(shop: "Shop", fact: facts.IssueFact, card: cards.CardRow, told: Told) -> None:
    match fact:
        case facts.Said():
            told.makers.append(comments.said(shop, fact, card))
        case facts.BoxTicked():
            told.makers += comments.ticked(shop, fact, card)
        case facts.LinksChanged() | facts.IssueShut():  # in any order: the look says what is so now
            told.ring(card)
        case facts.IssueEdited():
            told.ring(card, fact.change)
        case facts.IssueOpenedAgain():
            told.ring(card, facts.Change(fact.by, About.REOPENED, "", fact.at))
        case facts.PullSeen():
            told.makers.append(_pull(shop, fact, card))
        case facts.MergeLeft():
            told.makers.append(_unmerged(shop, fact, card))
        case facts.Reviewed() | facts.ReviewWanted() | facts.ReviewTakenBack():
            told.makers.append(_about_review(shop, fact, card))
        case _:
            raise TypeError(f"no rule for the fact {type(fact).__name__}")


def _about_review(
    shop: "Shop", fact: facts.Reviewed | facts.ReviewWanted | facts.ReviewTakenBack, card: cards.CardRow
) -> Maker:
    match fact:
        case facts.Reviewed():
            return _review(shop, fact, card)
        case facts.ReviewWanted():
            return _wanted(shop, fact, card)
        case facts.ReviewTakenBack():
            return lambda _: (on_pull.ReviewDismissed(card.card_id, fact.review_id),)
        case _:
            assert_never(fact)


def _nothing(_: Connection) -> tuple[Event, ...]:
    """Make nothing of a pull request that is gone: the card's doorbell tells what became of the card."""
    return ()


def _pull(shop: "Shop", fact: facts.PullSeen, card: cards.CardRow) -> Maker:
    """A pull request's delivery only says *look*: read it, because deliveries come in any order."""
    try:
        now = pulls.read(shop.hub, fact.repository, fact.number)
    except NotFoundError:
        return _nothing

    def make(db: Connection) -> tuple[Event, ...]:
        known = cards.get(db, card.card_id)
        if known is None or known.pull_number != fact.number:
            return ()
        seen = (now.state, now.draft, now.head)
        if seen == (known.pull_state, known.pull_draft, known.pull_head):
            return ()
        return (on_pull.PullChanged(card.card_id, fact.number, *seen),)

    return make


def _unmerged(shop: "Shop", fact: facts.MergeLeft, card: cards.CardRow) -> Maker:
    """What left the queue may just have been merged: read it."""
    with event_store.reading(shop.engine) as db:
        if merges.get(db, card.card_id) is None:
            return _nothing  # nothing that Cardinal wanted
    try:
        now = github_merges.read(shop.hub, card.pull_node_id)
    except NotFoundError:
        return _nothing

    def make(db: Connection) -> tuple[Event, ...]:
        known = merges.get(db, card.card_id)
        gone = now.state == "open" and not now.queued and not now.auto
        if known is None or known.number != fact.number or not gone:
            return ()
        return (on_pull.MergeAwaited(card.card_id, fact.number, "", known.head, fact.reason.lower()),)

    return make


def _review(shop: "Shop", fact: facts.Reviewed, card: cards.CardRow) -> Maker:
    trusted = roles.may_write(roles.role(shop.hub, fact.repository, fact.author))
    try:
        threads = reviews.threads_of_review(shop.hub, fact.repository, fact.number, fact.review_id)
    except NotFoundError:
        return _nothing

    def make(db: Connection) -> tuple[Event, ...]:
        if verdicts.knows(db, card.card_id, fact.review_id):
            return ()
        return (
            on_pull.ReviewSubmitted(
                card.card_id,
                fact.review_id,
                fact.author,
                trusted,
                fact.verdict,
                fact.body,
                threads,
                fact.head,
            ),
        )

    return make


def _wanted(shop: "Shop", fact: facts.ReviewWanted, card: cards.CardRow) -> Maker:
    trusted = roles.may_write(roles.role(shop.hub, fact.repository, fact.by))
    event = on_pull.ReviewRequested(card.card_id, fact.number, fact.reviewer, fact.by, trusted)
    return lambda _: (event,)
