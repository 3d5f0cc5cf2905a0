"""A board: its columns with the effect of a drag, and the cards in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from flask import Response, make_response, render_template
from sqlalchemy import Connection

from bot.web.acting import offered
from bot.web.pages._lists import CardView, card_view
from bot.web.pages._site import Site, VisibleBoard
from ledger.events.board import Column
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.lanes import ListedCard
from ledger.states import ATTENTION, CardState
from ledger.views import boards, stops
from rules.text import plain

MAX_CARDS = 25  # of a column: a page stays under 100 kB
_WORKING = (CardState.WORKING, CardState.REVISING)


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column; `more` counts the cards that are not listed."""

    name: str
    effect: str
    ticker: str
    cards: tuple[CardView, ...]
    more: int


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/boards/<owner>/<int:number>")
    def board(owner: str, number: int) -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        wanted = (owner.casefold(), number)
        visible = {(board.owner.casefold(), board.number): board for board in site.boards_of(visit)}
        mine = visible.get(wanted)
        if mine is None:
            return site.nothing(visit)
        with event_store.reading(site.engine) as db:
            row = boards.get(db, mine.board_id)
            listed = {column: _cards(db, mine, column) for column in (row.columns if row else ())}
            counts = lanes.counts(db, mine.board_id, mine.seen, drafts=mine.home)
            halted = stops.of_board(db, mine.board_id) if mine.home else ()
        shown = render_template(
            "board.html",
            title=plain(mine.title) or f"{owner}/{number}",
            lines=[
                f"{plain(f'{stop.scope} {stop.target}')}: stopped by {plain(stop.by)}." for stop in halted
            ],
            columns=_columns(listed, counts, site.clock()),
            forms=offered.for_board(site, visit, mine, chain(*listed.values())),
            path=mine.path,
            visit=visit,
        )
        return make_response(shown)


def _cards(db: Connection, board: VisibleBoard, column: Column) -> tuple[ListedCard, ...]:
    return lanes.of_column(db, board.board_id, column.name, board.seen, drafts=board.home, limit=MAX_CARDS)


def _columns(
    listed: Mapping[Column, tuple[ListedCard, ...]],
    counts: Mapping[str, Mapping[CardState, int]],
    now: datetime,
) -> list[ColumnView]:
    return [
        ColumnView(
            plain(column.name),
            plain(column.description, 400),
            _ticker(counts.get(column.name, {})),
            tuple(card_view(card, now) for card in cards),
            sum(counts.get(column.name, {}).values()) - len(cards),
        )
        for column, cards in listed.items()
    ]


def _ticker(by_state: Mapping[CardState, int]) -> str:
    """Return `3 running · 1 waiting on you · 2 queued`, without what there is none of."""
    figures = (
        (sum(by_state.get(state, 0) for state in _WORKING), "running"),
        (sum(by_state.get(state, 0) for state in ATTENTION), "waiting on you"),
        (by_state.get(CardState.QUEUED, 0), "queued"),
    )
    return " · ".join(f"{number} {word}" for number, word in figures if number)
