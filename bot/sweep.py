"""Finds what no delivery told: cards that moved unseen, and deliveries that GitHub could not hand over."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from bot import boards, policies
from bot.github import board as github_board
from bot.github import deliveries
from ledger import book, doorbells, inbox, waiting
from ledger.ids import BoardId, CardId
from ledger.states import Archetype
from ledger.views import cards

if TYPE_CHECKING:
    from bot.shop import Shop

AGAIN = timedelta(minutes=10)  # far longer than from one sweep to the next
LOOK_AGAIN = timedelta(minutes=10)  # at what a card waits for, should nobody have told that it is done
MOST_WAITING = 20  # cards of those in one sweep
MOST_REDELIVERIES = 50  # asked for in one sweep; the next one goes on


def sweep(shop: "Shop") -> tuple[CardId, ...]:
    """Compare the board with the ledger and ask for failed deliveries; return the cards that differ, rung."""
    board_id = boards.refresh(shop, shop.config.board_owner, shop.config.board_number)
    _redeliver(shop)
    return _compare(shop, board_id)


def _compare(shop: "Shop", board_id: BoardId) -> tuple[CardId, ...]:
    with book.reading(shop.engine) as db:
        columns = policies.in_force(db, board_id).board.columns
    quiet = tuple(name for name, column in columns.items() if column.archetype is Archetype.TERMINAL)
    seen = github_board.sweep(shop.hub, board_id, quiet)
    with book.writing(shop.engine) as db:
        known, closed = cards.columns_of(db, board_id), cards.closed_of(db, board_id)
        rung = [stub.card_id for stub in seen if _differs(stub, known, closed)]
        there = {stub.card_id for stub in seen}
        rung += [card_id for card_id, column in known.items() if card_id not in there and column not in quiet]
        late = waiting.unlooked(db, board_id, shop.now() - LOOK_AGAIN, MOST_WAITING)
        rung += [card_id for card_id in late if card_id not in rung]
        for card_id in rung:
            doorbells.ring(db, card_id, board_id, shop.now())
    return tuple(rung)


def _differs(
    stub: github_board.CardStub, known: Mapping[CardId, str | None], closed: frozenset[CardId]
) -> bool:
    if stub.card_id not in known:
        return not stub.archived  # one that rests is looked at when it comes back
    moved = stub.archived or known[stub.card_id] != stub.column
    return moved or stub.closed != (stub.card_id in closed)


def _redeliver(shop: "Shop") -> None:
    for failed in deliveries.failed(shop.hub, shop.now() - AGAIN)[:MOST_REDELIVERIES]:
        with book.reading(shop.engine) as db:
            known = inbox.known(db, failed.delivery_id)
        if not known:
            deliveries.ask_again(shop.hub, failed)
