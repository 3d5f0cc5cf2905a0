"""A board: its columns with the effect of a drag, and the cards in them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import NamedTuple, Protocol
from urllib.parse import urlencode

from flask import Response, current_app, get_template_attribute, jsonify
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies
from bot.state.card_filters import MAX_CHARS
from bot.web.acting import offered
from bot.web.site import following, holds, parameters, specialists
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.layout import Site
from bot.web.site.lists import CardView, card_view
from bot.web.site.visibility import VisibleBoard, may_see
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.model.policy_settings import MAX_NAME
from ledger.queries import lanes, run_list
from ledger.queries.agents import AgentRun
from ledger.queries.lanes import ListedCard
from ledger.queries.run_list import RunProgress
from ledger.queue.sign_ins import SignIn
from ledger.states import ATTENTION, CardState
from ledger.views import boards, cards, folders
from rules.card.column_actions import consequence
from rules.text import brief, ordinal, plain, state_word

MAX_CARDS, MAX_SHOWN = 25, 175  # of a column, and of all: a page stays under 100 kB
NOWHERE = ""  # the column of cards that are in none
LANES = ("none", "repository", "person", "agent")  # by what the board is parted
MAX_LANES = 12
MAX_WORKERS, MAX_LANE = 20, 10  # who works on what, and runs at work of each
MAX_TITLE, MAX_WHY = 80, 160
_WORKING = (CardState.WORKING, CardState.REVISING)


class ColumnCards(NamedTuple):
    """A column's cards to list, and how many of each state match."""

    name: str
    cards: tuple[ListedCard, ...]
    by_state: Mapping[CardState, int]


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column; `ways` lead to its cards that are not listed, `edit` to its settings."""

    name: str
    effect: str
    edit: str
    ticker: str
    total: int
    cards: tuple[Markup, ...]
    left_out: str
    ways: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class BoardLane:
    """A part of the board: its name, empty for all of it, and the cards of each column."""

    name: str
    columns: tuple[tuple[str, tuple[Markup, ...]], ...]


@dataclass(frozen=True, slots=True)
class WorkerView:
    """An agent or specialist with its load in words: of each run its name, its card, and how it goes or went.

    `way` leads to its cards.
    """

    name: str
    way: str
    load: str
    at_work: Sequence[tuple[str, str, str]]
    recent: Sequence[tuple[str, str, str]]


class CardHtml(Protocol):
    """Makes a card of the board."""

    def __call__(self, card: CardView, progress: RunProgress | None, place: str) -> Markup:
        """Return the HTML; `place` is that in the queue, or empty."""


def _card_html() -> CardHtml:
    made: CardHtml = get_template_attribute("parts/board_card.html", "board_card")
    return made


def mount(site: Site) -> None:
    """Mount the page, its stream, and what a script asks before it moves a card."""

    @site.get("/boards/<owner>/<int:number>")
    def board(visit: SignIn, owner: str, number: int) -> Response:
        mine = site.find_board(visit, owner, number)
        if mine is None:
            return site.nothing(visit)
        whole = site.is_whole_to(visit, mine)
        with event_store.reading(site.engine) as db:
            after = event_store.last_seq(db)
            form, by = _form(db, mine), _lanes_by()
            has_folders = whole and bool(folders.of_board(db, mine.board_id, 1))
            shown = _visible_columns(db, mine, form)
            values = _values(
                db, mine, form, by=by, shown=shown, html=_card_html(), now=site.clock(), whole=whole
            )
        return following.page(
            "board.html",
            f"/live{mine.path}",
            after,
            title=plain(mine.title) or f"{owner}/{number}",
            forms=offered.for_board(site, visit, mine, chain(*(it.cards for it in shown))),
            path=form.address,
            board_path=mine.path,
            policy=mine.policy_path if mine.home else "",
            folders="/folders" if has_folders else "",
            new_card=f"{mine.path}/new" if site.readers.wrote(visit, mine.seen) else "",
            by=by,
            parts=LANES,
            visit=visit,
            **values,
        )

    @site.get("/live/boards/<owner>/<int:number>")
    def board_news(visit: SignIn, owner: str, number: int) -> Response:
        mine = site.find_board(visit, owner, number)
        if mine is None:
            return site.nothing(visit)
        whole = site.is_whole_to(visit, mine)
        with event_store.reading(site.engine) as db:
            form, by = _form(db, mine), _lanes_by()
        make = _maker(site, mine, form, by=by, whole=whole)
        shown = (form.address, form.problem, by, whole)
        return following.list_stream(site, visit, [mine.scope], shown, make)

    @site.get("/boards/<owner>/<int:number>/moves/<card_id>")
    def moves(visit: SignIn, owner: str, number: int, card_id: str) -> Response:
        mine = site.find_board(visit, owner, number)
        with event_store.reading(site.engine) as db:
            card = cards.get(db, CardId(card_id))
        if mine is None or card is None or card.board_id != mine.board_id or not may_see(site, visit, card):
            return site.nothing(visit)
        for it in offered.for_card(site, visit, card.card_id):
            if it.offer.command == "move":
                columns = [name for name, _ in it.offer.choices]
                return jsonify(name=it.offer.name, token=it.token, columns=columns)
        run = "cancel its run first" if card.run_id else "you do not have the right, or it is a draft"
        return jsonify(name="", token="", columns=[], why=f"You cannot move this card right now: {run}.")


def _lanes_by() -> str:
    """Return by what the board is parted. Raises FilterError."""
    return parameters.choice("lanes", LANES, LANES[0])


def _maker(
    site: Site, mine: VisibleBoard, form: FilterForm, *, by: str, whole: bool
) -> Callable[[Connection], ListHtml]:
    """Return the maker of the list for all its readers, outside of requests."""
    html, template = _card_html(), current_app.jinja_env.get_template("parts/board_list.html")

    def once(card: CardView, progress: RunProgress | None, place: str) -> Markup:
        return html(replace(card, waits=""), progress, place)  # a script says how long

    def make(db: Connection) -> ListHtml:
        shown = _visible_columns(db, mine, form)
        values = _values(db, mine, form, by=by, shown=shown, html=once, now=site.clock(), whole=whole)
        text = template.render(values)
        return lambda _login: text

    return make


def _form(db: Connection, board: VisibleBoard) -> FilterForm:
    return filter_form(
        db, board.path, [board.scope],
        states=tuple(CardState), key="column", sections=(*_columns(db, board), NOWHERE), more=("lanes",),
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
    *,
    by: str,
    shown: Sequence[ColumnCards],
    html: CardHtml,
    now: datetime,
    whole: bool,
) -> dict[str, object]:
    """Return the values of the part that a stream replaces: all but the forms."""
    columns = _columns(db, board)
    progress = run_list.progress_of(db, [it.run_id for part in shown for it in part.cards if it.run_id])
    queue = holds.queue_order(db, board.board_id, now) if whole else []
    places = {run: place for line in queue for place, _, _, run, *_ in line.runs if place.isdigit()}
    made = {
        it.card_id: html(
            card_view(it, now),
            progress.get(it.run_id) if it.run_id else None,
            ordinal(int(places[it.run_id])) if it.run_id in places else "",
        )
        for part in shown
        for it in part.cards
    }
    return {
        "filter": form,
        "lines": holds.stop_lines(db, board, now, whole=whole),
        "offers": holds.stop_mark(db, board),
        "total": sum(sum(it.by_state.values()) for it in shown),
        "columns": [_view(board, form, columns, it, made) for it in shown],
        "lanes": list(_lanes(by, shown, made, progress)),
        "workers": _workers(db, board, now),
        "queue": queue,
        "merging": holds.merge_lanes(db, board),
        "limits": holds.limits(db, board.board_id, now) if whole else [],
    }


def _workers(db: Connection, board: VisibleBoard, now: datetime) -> list[WorkerView]:
    """Return who works on what, each with its load in words; runs at work before those that ended."""
    views = []
    for it in specialists.list_loads(db, board)[:MAX_WORKERS]:
        counts = ((len(it.at_work), "working"), (it.waiting, "waiting for someone"), (it.queued, "queued"))
        load = [f"{number} {word}" for number, word in (*counts, (it.assigned, "assigned")) if number]
        at_work = [
            (
                run.run_id,
                _card_words(run),
                f"{plain(run.last_line, MAX_WHY) or 'working'}, {brief(now - run.claimed_at)}",
            )
            for run in it.at_work[:MAX_LANE]
            if run.claimed_at is not None
        ]
        recent = [(run.run_id, _card_words(run), state_word(run.ending or "")) for run in it.recent]
        way = f"{board.path}?{urlencode({'agent': it.name})}" if len(it.name) <= MAX_CHARS else board.path
        views.append(WorkerView(plain(it.name), way, " · ".join(load) or "idle", at_work, recent))
    return views


def _card_words(run: AgentRun) -> str:
    return f"{specialists.name_of_card(run)} {plain(run.title, MAX_TITLE)}"


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


def _lanes(
    by: str,
    shown: Sequence[ColumnCards],
    made: Mapping[CardId, Markup],
    progress: Mapping[RunId, RunProgress],
) -> Iterator[BoardLane]:
    """Return the parts of the board, the largest first; the rest of very many stands in the last one."""

    def name_of(card: ListedCard) -> str:
        match by:
            case "repository":
                return card.repository or "drafts"
            case "person":
                return next(iter(card.people), "no one")
            case "agent":
                known = progress.get(card.run_id) if card.run_id else None
                return known.agent if known and known.agent else "no agent yet"
        return ""

    sizes = Counter(name_of(card) for part in shown for card in part.cards)
    kept = [name for name, _ in sizes.most_common(MAX_LANES)] or [""]
    for name in (*kept, *(("others",) if len(sizes) > len(kept) else ())):
        columns = (
            (part.name, tuple(made[it.card_id] for it in part.cards if _stands_in(name_of(it), name, kept)))
            for part in shown
        )
        yield BoardLane(plain(name), tuple(columns))


def _stands_in(own: str, lane: str, kept: Sequence[str]) -> bool:
    return own == lane if own in kept else lane == "others"


def _view(
    board: VisibleBoard,
    form: FilterForm,
    columns: Mapping[str, str],
    it: ColumnCards,
    made: Mapping[CardId, Markup],
) -> ColumnView:
    total = sum(it.by_state.values())
    edit = f"{board.policy_path}/edit?{urlencode({'column': it.name})}"
    return ColumnView(
        name=plain(it.name) or "No column",
        effect=plain(columns.get(it.name, ""), 400),
        edit=edit if board.home and 0 < len(it.name) <= MAX_NAME else "",
        ticker=_ticker(it.by_state),
        total=total,
        cards=tuple(made[card.card_id] for card in it.cards),
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
