"""The front page: the inbox of whoever is signed in, lane by lane over all boards."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Response
from sqlalchemy import Connection

from bot.web.acting import offered
from bot.web.site import following
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.layout import TITLE, Site, when
from bot.web.site.lists import MAX_ACTING, CardView, card_view
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, Lane, ListedCard
from ledger.queue.sign_ins import SignIn

EMPTY = "Nothing is on its way. Drag a card on your board into a column that starts work."
MAX_CARDS = 20  # of a lane while others are shown, too: a page stays under 100 kB
MORE = "Only what you may read on GitHub is listed. Files of a run are linked from the page of the run."


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane with the visitor's own cards and those of others, which the visitor may act on, too; `ways` lead
    to those that are not listed.
    """

    name: str
    total: int
    mine: tuple[CardView, ...]
    others: tuple[CardView, ...]
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
            form = filter_form(db, "/", scopes, states=tuple(LANES), key="lane", sections=tuple(Lane))
            listed = _listed(db, form, scopes, visit.login)
        return following.page(
            "front.html",
            "/live/inbox",
            after,
            title="Inbox",
            lines=() if any(cards for _, _, cards in listed) or form.narrows or form.problem else (EMPTY,),
            filter=form,
            total=sum(total for _, total, _ in listed),
            lanes=[_view(site, visit, form, *it) for it in listed],
            boards=boards,
            hint=f"{MORE} You are signed in as {visit.login} until {when(visit.until)}.",
            visit=visit,
        )

    @site.get("/live/inbox")
    def news(visit: SignIn) -> Response:
        return following.stream(site, visit, [board.scope for board in site.boards_of(visit)])


def _listed(
    db: Connection, form: FilterForm, scopes: Sequence[CardScope], login: str
) -> list[tuple[Lane, int, tuple[ListedCard, ...]]]:
    """Return each lane that is shown, with how many cards match, and those to list."""
    if form.wanted is None:
        return []
    totals = lanes.lane_counts(db, scopes, form.wanted)
    limit, offset = form.window(MAX_CARDS)
    return [
        (
            lane,
            totals[lane],
            lanes.of_lane(db, scopes, lane, form.wanted, own=login, limit=limit, offset=offset),
        )
        for lane in Lane
        if form.shows(lane) and totals[lane]
    ]


def _view(
    site: Site, visit: SignIn, form: FilterForm, lane: Lane, total: int, cards: tuple[ListedCard, ...]
) -> LaneView:
    now, login = site.clock(), visit.login.casefold()
    mine, others = list[CardView](), list[CardView]()
    for card in cards:
        listed_in = mine if login in (name.casefold() for name in card.people) else others
        acts = lane is Lane.NEEDS_YOU and len(listed_in) < MAX_ACTING
        forms = offered.for_card(site, visit, card.card_id) if acts else ()  # may ask GitHub
        listed_in.append(card_view(card, now, forms))
    ways = form.ways(lane, total, len(cards))
    return LaneView(lane.value, total, tuple(mine), tuple(others), form.left_out(total, len(cards)), ways)
