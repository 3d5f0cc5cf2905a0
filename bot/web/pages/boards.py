"""A board: its columns with the effect of a drag, and the cards in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from flask import Response, current_app
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies
from bot.web.acting import offered
from bot.web.site import following, holds
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.layout import Site
from bot.web.site.lists import CardView, RowHtml, card_view, row_html
from bot.web.site.visibility import VisibleBoard
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.lanes import ListedCard
from ledger.queue.sign_ins import SignIn
from ledger.states import ATTENTION, CardState
from ledger.views import boards
from rules.card.column_actions import consequence
from rules.text import plain

MAX_CARDS, MAX_SHOWN = 25, 175  # of a column, and of all: a page stays under 100 kB
NOWHERE = ""  # the column of cards that are in none
_WORKING = (CardState.WORKING, CardState.REVISING)


class ColumnCards(NamedTuple):
    """A column's cards to list, and how many of each state match."""

    name: str
    cards: tuple[ListedCard, ...]
    by_state: Mapping[CardState, int]


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column; `ways` lead to its cards that are not listed."""

    name: str
    effect: str
    ticker: str
    rows: tuple[Markup, ...]
    left_out: str
    ways: tuple[tuple[str, str], ...]


def mount(site: Site) -> None:
    """Mount the page and its stream."""

    @site.get("/boards/<owner>/<int:number>")
    def board(visit: SignIn, owner: str, number: int) -> Response:
        mine = _visible(site, visit, owner, number)
        if mine is None:
            return site.nothing(visit)
        whole = site.is_whole_to(visit, mine)
        with event_store.reading(site.engine) as db:
            after = event_store.last_seq(db)
            form = _form(db, mine)
            shown = _visible_columns(db, mine, form)
            values = _values(db, mine, form, shown, row_html(), now=site.clock(), whole=whole)
        return following.page(
            "board.html",
            f"/live{mine.path}",
            after,
            title=plain(mine.title) or f"{owner}/{number}",
            forms=offered.for_board(site, visit, mine, chain(*(it.cards for it in shown))),
            path=form.address,
            policy=mine.path.replace("/boards/", "/policy/", 1) if mine.home else "",
            visit=visit,
            **values,
        )

    @site.get("/live/boards/<owner>/<int:number>")
    def board_news(visit: SignIn, owner: str, number: int) -> Response:
        mine = _visible(site, visit, owner, number)
        if mine is None:
            return site.nothing(visit)
        whole = site.is_whole_to(visit, mine)
        with event_store.reading(site.engine) as db:
            form = _form(db, mine)
        make = _maker(site, mine, form, whole=whole)
        return following.list_stream(site, visit, [mine.scope], (form.address, form.problem, whole), make)


def _maker(
    site: Site, mine: VisibleBoard, form: FilterForm, *, whole: bool
) -> Callable[[Connection], ListHtml]:
    """Return the maker of the list for all its readers, outside of requests."""
    row, template = row_html(), current_app.jinja_env.get_template("parts/board_list.html")

    def once(card: CardView, back: str, *, in_column: bool) -> Markup:
        return row(replace(card, waits=""), back, in_column=in_column)  # a script says how long

    def make(db: Connection) -> ListHtml:
        values = _values(
            db, mine, form, _visible_columns(db, mine, form), once, now=site.clock(), whole=whole
        )
        html = template.render(values)
        return lambda _login: html

    return make


def _form(db: Connection, board: VisibleBoard) -> FilterForm:
    return filter_form(
        db, board.path, [board.scope],
        states=tuple(CardState), key="column", sections=(*_columns(db, board), NOWHERE),
    )  # fmt: skip


def _columns(db: Connection, board: VisibleBoard) -> Mapping[str, str]:
    """Return the meaning of a drag into each column, by the policy; of others, GitHub's description."""
    row, policy = boards.get(db, board.board_id), policies.in_force(db, board.board_id)
    return {
        it.name: consequence(column) if (column := policy.column(it.name)) else it.description
        for it in (row.columns if row else ())
    }


def _values(
    db: Connection,
    board: VisibleBoard,
    form: FilterForm,
    shown: Sequence[ColumnCards],
    row: RowHtml,
    *,
    now: datetime,
    whole: bool,
) -> dict[str, object]:
    """Return the values of the part that a stream replaces: all but the forms."""
    columns = _columns(db, board)
    return {
        "filter": form,
        "lines": holds.stop_lines(db, board, now, whole=whole),
        "offers": holds.stop_mark(db, board),
        "total": sum(sum(it.by_state.values()) for it in shown),
        "columns": [_view(form, now, columns, it, row) for it in shown],
        "queue": holds.queue_order(db, board.board_id, now) if whole else [],
        "merging": holds.merge_lanes(db, board),
        "limits": holds.limits(db, board.board_id, now) if whole else [],
    }


def _visible(site: Site, visit: SignIn, owner: str, number: int) -> VisibleBoard | None:
    wanted = (owner.casefold(), number)
    return next((it for it in site.boards_of(visit) if (it.owner.casefold(), it.number) == wanted), None)


def _visible_columns(db: Connection, board: VisibleBoard, form: FilterForm) -> list[ColumnCards]:
    """Return the columns to show."""
    if form.wanted is None:
        return []
    columns, counts = _columns(db, board), lanes.lane_counts(db, [board.scope], form.wanted)
    limit, offset = form.window(min(MAX_CARDS, max(2, MAX_SHOWN // (len(columns) + 1))))
    shown = []
    for name in (*columns, NOWHERE):
        by_state = counts.get(name or None, {})
        if form.shows(name) and (by_state or not (form.narrows or name == NOWHERE)):
            place = [board.scope], name or None, form.wanted
            listed = lanes.of_column(db, *place, limit=limit, offset=offset)
            shown.append(ColumnCards(name, listed, by_state))
    return shown


def _view(
    form: FilterForm, now: datetime, columns: Mapping[str, str], it: ColumnCards, row: RowHtml
) -> ColumnView:
    total = sum(it.by_state.values())
    return ColumnView(
        name=plain(it.name) or "No column",
        effect=plain(columns.get(it.name, ""), 400),
        ticker=_ticker(it.by_state),
        rows=tuple(row(card_view(card, now), form.address, in_column=True) for card in it.cards),
        left_out=form.left_out(total, len(it.cards)),
        ways=form.ways(it.name, total, len(it.cards)),
    )


def _ticker(by_state: Mapping[CardState, int]) -> str:
    """Return `3 running · 1 waiting on you · 2 queued`, without zeros."""
    figures = (
        (sum(by_state.get(state, 0) for state in _WORKING), "running"),
        (sum(by_state.get(state, 0) for state in ATTENTION), "waiting on you"),
        (by_state.get(CardState.QUEUED, 0), "queued"),
    )
    return " · ".join(f"{number:,} {word}" for number, word in figures if number)
