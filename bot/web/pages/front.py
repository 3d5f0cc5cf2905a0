"""The front page: the inbox of whoever is signed in, lane by lane over all boards."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from flask import Response, current_app
from markupsafe import Markup
from sqlalchemy import Connection

from bot.web.acting import offered
from bot.web.site import following
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.layout import TITLE, Site, when
from bot.web.site.lists import MAX_ACTING, card_view, row_html
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, Lane, LaneCards, ListedCard
from ledger.queue.sign_ins import SignIn

EMPTY = "Nothing is on its way. Drag a card on your board into a column that starts work."
MAX_CARDS = 20  # of a lane while others are shown, too: a page stays under 100 kB
MORE = "Only what you may read on GitHub is listed. Files of a run are linked from the page of the run."
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
            listed = _listed(db, form, scopes)
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
            **_list_values(form, listed, visit.login, make),
        )

    @site.get("/live/inbox")
    def news(visit: SignIn) -> Response:
        scopes = [board.scope for board in site.boards_of(visit)]
        with event_store.reading(site.engine) as db:
            form = _form(db, scopes)
        return following.list_stream(
            site, visit, scopes, (form.address, form.problem), _maker(site, form, scopes)
        )


def _maker(site: Site, form: FilterForm, scopes: Sequence[CardScope]) -> Callable[[Connection], ListHtml]:
    """Return the maker of the list for all its readers, outside of requests."""
    row, template = row_html(), current_app.jinja_env.get_template("parts/front_list.html")

    def make(db: Connection) -> ListHtml:
        listed, made = _listed(db, form, scopes), dict[tuple[str, bool], Markup]()

        def once(card: ListedCard, acts: bool) -> Markup:
            """Return the row, made once for all readers; its forms are fetched by who opens them."""
            key = card.card_id, acts
            if key not in made:
                view = replace(card_view(card, site.clock()), waits="", acts=acts)
                made[key] = row(view, form.address, in_column=False)
            return made[key]

        return lambda login: template.render(filter=form, **_list_values(form, listed, login, once))

    return make


def _form(db: Connection, scopes: Sequence[CardScope]) -> FilterForm:
    return filter_form(db, "/", scopes, states=tuple(LANES), key="lane", sections=tuple(Lane))


def _listed(db: Connection, form: FilterForm, scopes: Sequence[CardScope]) -> Mapping[Lane, LaneCards]:
    """Return each lane that is shown, with all cards that match."""
    if form.wanted is None:
        return {}
    listed = lanes.by_lane(db, scopes, form.wanted)
    return {lane: its for lane, its in listed.items() if form.shows(lane) and its.cards}


def _list_values(
    form: FilterForm, listed: Mapping[Lane, LaneCards], login: str, make: MakeRow
) -> dict[str, object]:
    """Return the values of the list as the person sees it."""
    nothing = not (form.narrows or form.problem or listed)
    return {
        "lines": (EMPTY,) if nothing else (),
        "total": sum(len(its.cards) for its in listed.values()),
        "lanes": [_view(form, lane, its, login, make) for lane, its in listed.items()],
    }


def _view(form: FilterForm, lane: Lane, its: LaneCards, login: str, make: MakeRow) -> LaneView:
    limit, offset = form.window(MAX_CARDS)
    parts = its.of(login, limit=limit, offset=offset)
    mine, others = (
        tuple(make(card, lane is Lane.NEEDS_YOU and place < MAX_ACTING) for place, card in enumerate(part))
        for part in parts
    )
    total, shown = len(its.cards), len(mine) + len(others)
    heading = "For anybody who may answer" if lane is Lane.NEEDS_YOU else "Everybody else's" if mine else ""
    return LaneView(
        lane.value, total, mine, others, heading, form.left_out(total, shown), form.ways(lane, total, shown)
    )
