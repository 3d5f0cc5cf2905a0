"""A board: its columns with the effect of a drag, and the cards in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from flask import Response
from sqlalchemy import Connection

from bot.web.acting import offered
from bot.web.site import following, holds
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.layout import Site, VisibleBoard
from bot.web.site.lists import CardView, card_view
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.lanes import ListedCard
from ledger.queue.sign_ins import SignIn
from ledger.states import ATTENTION, CardState
from ledger.views import boards
from rules.text import plain

MAX_CARDS, MAX_SHOWN = 25, 175  # of a column, and of all: a page stays under 100 kB
NOWHERE = ""  # the column of cards that are in none
_WORKING = (CardState.WORKING, CardState.REVISING)


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column; `ways` lead to its cards that are not listed."""

    name: str
    effect: str
    ticker: str
    cards: tuple[CardView, ...]
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
            row = boards.get(db, mine.board_id)
            columns = {column.name: column.description for column in row.columns} if row else {}
            form = filter_form(
                db, mine.path, [mine.scope],
                states=tuple(CardState), key="column", sections=(*columns, NOWHERE),
            )  # fmt: skip
            shown = _shown(db, mine, form, columns)
            stopped = holds.stop_lines(db, mine, site.clock(), whole=whole)
            limits = holds.limits(db, mine.board_id, site.clock()) if whole else []
            merging = holds.merge_lanes(db, mine)
            queue = holds.queue(db, mine.board_id, site.clock()) if whole else []
        return following.page(
            "board.html",
            f"/live{mine.path}",
            after,
            title=plain(mine.title) or f"{owner}/{number}",
            lines=stopped,
            limits=limits,
            queue=queue,
            merging=merging,
            filter=form,
            total=sum(sum(by_state.values()) for _, _, by_state in shown),
            columns=[_view(form, site.clock(), columns, *it) for it in shown],
            forms=offered.for_board(site, visit, mine, chain(*(cards for _, cards, _ in shown))),
            path=form.address,
            policy=mine.path.replace("/boards/", "/policy/", 1) if mine.home else "",
            visit=visit,
        )

    @site.get("/live/boards/<owner>/<int:number>")
    def board_news(visit: SignIn, owner: str, number: int) -> Response:
        mine = _visible(site, visit, owner, number)
        return site.nothing(visit) if mine is None else following.stream(site, visit, [mine.scope])


def _visible(site: Site, visit: SignIn, owner: str, number: int) -> VisibleBoard | None:
    wanted = (owner.casefold(), number)
    return next((it for it in site.boards_of(visit) if (it.owner.casefold(), it.number) == wanted), None)


def _shown(
    db: Connection, board: VisibleBoard, form: FilterForm, columns: Mapping[str, str]
) -> list[tuple[str, tuple[ListedCard, ...], dict[CardState, int]]]:
    """Return the columns to show, each with its cards and how many of each state match."""
    if form.wanted is None:
        return []
    counts = lanes.counts(db, [board.scope], form.wanted)
    limit, offset = form.window(min(MAX_CARDS, max(2, MAX_SHOWN // (len(columns) + 1))))
    shown = []
    for name in (*columns, NOWHERE):
        by_state = counts.get(name or None, {})
        if form.shows(name) and (by_state or not (form.narrows or name == NOWHERE)):
            place = [board.scope], name or None, form.wanted
            shown.append((name, lanes.of_column(db, *place, limit=limit, offset=offset), by_state))
    return shown


def _view(
    form: FilterForm,
    now: datetime,
    columns: Mapping[str, str],
    name: str,
    cards: tuple[ListedCard, ...],
    by_state: Mapping[CardState, int],
) -> ColumnView:
    total = sum(by_state.values())
    return ColumnView(
        plain(name) or "No column",
        plain(columns.get(name, ""), 400),
        _ticker(by_state),
        tuple(card_view(card, now) for card in cards),
        form.left_out(total, len(cards)),
        form.ways(name, total, len(cards)),
    )


def _ticker(by_state: Mapping[CardState, int]) -> str:
    """Return `3 running · 1 waiting on you · 2 queued`, without what there is none of."""
    figures = (
        (sum(by_state.get(state, 0) for state in _WORKING), "running"),
        (sum(by_state.get(state, 0) for state in ATTENTION), "waiting on you"),
        (by_state.get(CardState.QUEUED, 0), "queued"),
    )
    return " · ".join(f"{number:,} {word}" for number, word in figures if number)
