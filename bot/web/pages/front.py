"""The front page: the inbox of whoever is signed in, lane by lane over all boards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from flask import Response, current_app
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies
from bot.web.acting import offered
from bot.web.site import following
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.layout import TITLE, Site
from bot.web.site.lists import MAX_ACTING, card_view, row_html
from bot.web.site.times import when
from bot.web.site.visibility import VisibleBoard
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.model.limit_answers import Subject
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, PLAN, Lane, LaneCards, ListedCard
from ledger.queue.sign_ins import SignIn
from rules.chatops.parser import may_answer

EMPTY = "Nothing here yet. Drag a card on your board into a column that starts work."
MAX_CARDS = 16  # of a lane while others are shown, too: a page stays under 100 kB
MORE = "This lists only what you may read on GitHub. A run's files are linked from its page."
RightToAnswer = Callable[[str, ListedCard], bool]  # of a login
MakeRow = Callable[[ListedCard, bool], Markup]  # whether it has its forms


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane: the visitor's own cards and, below a `heading`, others'; `ways` lead to those not listed."""

    name: str
    total: int
    mine: tuple[Markup, ...]
    others: tuple[Markup, ...]
    heading: str
    left_out: str
    ways: tuple[tuple[str, str], ...]


def mount(site: Site) -> None:
    """Mount the page and its stream."""

    @site.blueprint.get("/")
    def front() -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger(TITLE, 200)
        boards = site.boards_of(visit)
        scopes = [board.scope for board in boards]
        with event_store.reading(site.engine) as db:
            after = event_store.last_seq(db)
            form = _form(db, scopes)
            may = _right_to_answer(db, scopes, _roles(site, visit, boards))
            listed = _list_lanes(db, form, scopes)
        row = row_html()

        def make(card: ListedCard, acts: bool) -> Markup:
            forms = offered.for_card(site, visit, card.card_id) if acts else ()  # may ask GitHub
            return row(card_view(card, site.clock(), forms), form.address, in_column=False)

        return following.page(
            "front.html",
            "/live/inbox",
            after,
            title="Inbox",
            filter=form,
            boards=boards,
            hint=f"{MORE} You are signed in as {visit.login} until {when(visit.until)}.",
            visit=visit,
            **_list_values(form, listed, visit.login, may, make),
        )

    @site.get("/live/inbox")
    def news(visit: SignIn) -> Response:
        boards = site.boards_of(visit)
        scopes = [board.scope for board in boards]
        with event_store.reading(site.engine) as db:
            form = _form(db, scopes)
        roles = _roles(site, visit, boards)
        shown = form.address, form.problem, sorted(roles.items())
        return following.list_stream(site, visit, scopes, shown, _maker(site, form, scopes, roles))


def _roles(site: Site, visit: SignIn, boards: Sequence[VisibleBoard]) -> Mapping[str, str]:
    """Return the visitor's roles in the repositories of the boards, as GitHub last named them."""
    return {name: site.readers.last_role(visit, name) for board in boards for name in board.seen}


def _right_to_answer(db: Connection, scopes: Sequence[CardScope], roles: Mapping[str, str]) -> RightToAnswer:
    """Return whether a login with these roles may answer a card's question by the policies in force."""
    rules = {scope.board_id: policies.in_force(db, scope.board_id) for scope in scopes}

    @cache
    def permits(login: str, board_id: BoardId, role: str, waits_for: str) -> bool:
        subject = None if waits_for == PLAN else Subject(waits_for)
        return may_answer(rules[board_id], subject, role=role, login=login)

    def may(login: str, card: ListedCard) -> bool:
        role = roles.get(card.repository or "", "")
        return not card.waits_for or permits(login, card.board_id, role, card.waits_for)

    return may


def _maker(
    site: Site, form: FilterForm, scopes: Sequence[CardScope], roles: Mapping[str, str]
) -> Callable[[Connection], ListHtml]:
    """Return the maker of the list for all its readers, outside of requests."""
    row, template = row_html(), current_app.jinja_env.get_template("parts/front_list.html")

    def make(db: Connection) -> ListHtml:
        listed, made = _list_lanes(db, form, scopes), dict[tuple[str, bool], Markup]()
        may = _right_to_answer(db, scopes, roles)

        def once(card: ListedCard, acts: bool) -> Markup:
            """Return the row, made once for all readers; its forms are fetched by who opens them."""
            key = card.card_id, acts
            if key not in made:
                view = replace(card_view(card, site.clock()), waits="", acts=acts)
                made[key] = row(view, form.address, in_column=False)
            return made[key]

        return lambda login: template.render(filter=form, **_list_values(form, listed, login, may, once))

    return make


def _form(db: Connection, scopes: Sequence[CardScope]) -> FilterForm:
    return filter_form(db, "/", scopes, states=tuple(LANES), key="lane", sections=tuple(Lane))


def _list_lanes(db: Connection, form: FilterForm, scopes: Sequence[CardScope]) -> Mapping[Lane, LaneCards]:
    """Return each lane, with all cards that match; none for a filter that cannot be read."""
    return {} if form.wanted is None else lanes.by_lane(db, scopes, form.wanted)


def _list_values(
    form: FilterForm,
    listed: Mapping[Lane, LaneCards],
    login: str,
    may: RightToAnswer,
    make: MakeRow,
) -> dict[str, object]:
    """Return the values of the list as the person sees it."""
    mine = lanes.for_person(listed, login, partial(may, login)) if listed else {}
    # One that is shown alone is shown without a card, too: it leads back to all.
    shown = {lane: its for lane, its in mine.items() if form.shows(lane) and (its.cards or form.section)}
    nothing = not (form.narrows or form.problem or shown)
    return {
        "lines": (EMPTY,) if nothing else (),
        "total": sum(len(its.cards) for its in shown.values()),
        "lanes": [_view(form, lane, its, login, make) for lane, its in shown.items()],
    }


def _view(form: FilterForm, lane: Lane, its: LaneCards, login: str, make: MakeRow) -> LaneView:
    limit, offset = form.window(MAX_CARDS)
    parts = its.of(login, limit=limit, offset=offset)
    mine, others = (
        tuple(make(card, lane is Lane.NEEDS_YOU and place < MAX_ACTING) for place, card in enumerate(part))
        for part in parts
    )
    total, shown = len(its.cards), len(mine) + len(others)
    heading = (
        "Anyone with the right can answer" if lane is Lane.NEEDS_YOU else "Other people's" if mine else ""
    )
    return LaneView(
        name=lane.value,
        total=total,
        mine=mine,
        others=others,
        heading=heading,
        left_out=form.left_out(total, shown),
        ways=form.ways(lane, total, shown),
    )
