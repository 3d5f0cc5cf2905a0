"""The front page: the signed-in person's inbox, lane by lane over all boards, decisions in place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice

from flask import Response, current_app, render_template
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies
from bot.web.site import decisions, following, parameters
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.holds import MAX_WHY
from bot.web.site.layout import TITLE, Site
from bot.web.site.lists import MAX_ACTING, card_view, fit_rows, inbox_row_html
from bot.web.site.times import when
from bot.web.site.visibility import VisibleBoard, may_see
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, PLAN, WAITING_LANES, Lane, LaneCards, ListedCard
from ledger.queue.sign_ins import SignIn
from ledger.rows.limit_answers import Subject
from ledger.views import cards
from rules.chatops.parser import may_answer
from rules.text import plain

EMPTY = "Nothing here yet. Drag a card on your board into a column that starts work."
MAX_CARDS = 12  # of a lane while others are shown, too: a page stays under 100 kB
MAX_ROWS, LITTLE = 84_000, 3_000  # bytes of HTML of all rows, and of those that each lane may have anyway
MAX_DECISIONS = 16_000  # bytes of HTML of all rows with decisions in one page: others are fetched
MAX_CAUSES = 8
MAX_TOGETHER = 20  # cards of one cause that are listed, and retried at once: as many acts a minute has
MORE = "This lists only what you may read on GitHub. A run's files are linked from its page."
VERBS = {
    Lane.NEEDS_INPUT: "Answer",
    Lane.NEEDS_OTHERS: "Read",
    Lane.FAILED: "See why",
    Lane.REVIEW: "Report",
    Lane.READY: "Decide",
}
RightToAnswer = Callable[[str, ListedCard], bool]  # of a login
MakeRow = Callable[[ListedCard, str], Markup]  # with the verb of its decision; empty without one


@dataclass(frozen=True, slots=True)
class SameCauseView:
    """Cards that failed for one cause, the longest since `since`; `rows` has the first of them."""

    total: int
    why: str
    since: str
    rows: tuple[Markup, ...]
    all: str


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane: cards of one cause, the visitor's own, others' below a `heading`; `ways` lead to the rest."""

    name: str
    total: int
    same: tuple[SameCauseView, ...]
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
            waiting = lanes.count_waiting_cards(db, scopes)
        make = _rows_with_decisions(site, visit, form)
        return following.page(
            "front.html",
            "/live/inbox",
            after,
            title="Inbox",
            filter=form,
            boards=boards,
            hint=f"{MORE} You are signed in as {visit.login} until {when(visit.until)}.",
            visit=visit,
            waiting=waiting,
            **_list_values(form, listed, visit.login, may, make),
        )

    @site.get("/decide/<card_id>")
    def decide(visit: SignIn, card_id: str) -> Response:
        parameters.check_names()
        with event_store.reading(site.engine) as db:
            card = cards.get(db, CardId(card_id))
        if card is None or not may_see(site, visit, card):
            return site.nothing(visit)
        it = decisions.find_decision(site, visit, card.card_id)
        return Response(render_template("decision.html", it=it, back="/") if it else "")

    @site.get("/live/inbox")
    def news(visit: SignIn) -> Response:
        boards = site.boards_of(visit)
        scopes = [board.scope for board in boards]
        with event_store.reading(site.engine) as db:
            form = _form(db, scopes)
        roles = _roles(site, visit, boards)
        shown = form.address, form.problem, sorted(roles.items())
        return following.list_stream(site, visit, scopes, shown, _maker(site, form, scopes, roles))


def _rows_with_decisions(site: Site, visit: SignIn, form: FilterForm) -> Callable[[ListedCard, str], Markup]:
    """Return the maker of the reader's own rows: the first ones have their decisions, others fetch them."""
    row, places, room = inbox_row_html(), iter(range(MAX_ACTING)), MAX_DECISIONS

    def make(card: ListedCard, verb: str) -> Markup:
        nonlocal room
        view, place = card_view(card, site.clock()), next(places, None) if verb else None
        # This may ask GitHub.
        it = None if place is None else decisions.find_decision(site, visit, card.card_id)
        made = row(view, form.address, verb, it, open=place == 0)
        if it is None or len(made) > room:
            return made if it is None else row(view, form.address, verb)
        room -= len(made)
        return made

    return make


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
    row, template = inbox_row_html(), current_app.jinja_env.get_template("parts/front_list.html")

    def make(db: Connection) -> ListHtml:
        listed, made = _list_lanes(db, form, scopes), dict[tuple[str, str], Markup]()
        may, waiting = _right_to_answer(db, scopes, roles), lanes.count_waiting_cards(db, scopes)

        def once(card: ListedCard, verb: str) -> Markup:
            """Return the row, made once for all readers; its decision is fetched by who opens it."""
            key = card.card_id, verb
            if key not in made:
                made[key] = row(replace(card_view(card, site.clock()), waits=""), form.address, verb)
            return made[key]

        return lambda login: template.render(
            filter=form, waiting=waiting, **_list_values(form, listed, login, may, once)
        )

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
        "nothing": EMPTY if nothing else "",
        "total": sum(len(its.cards) for its in shown.values()),
        "lanes": _views(form, shown, login, make),
    }


def _views(
    form: FilterForm, shown: Mapping[Lane, LaneCards], login: str, make: MakeRow
) -> Sequence[LaneView]:
    """Return the lanes; of long texts the first lanes show more, and each lane a little."""
    views, room = list[LaneView](), MAX_ROWS
    for place, (lane, its) in enumerate(shown.items(), start=1):
        views.append(_view(form, lane, its, login, make, room=room - LITTLE * (len(shown) - place)))
        same = (row for it in views[-1].same for row in it.rows)
        room -= sum(map(len, (*same, *views[-1].mine, *views[-1].others)))
    return views


def _view(form: FilterForm, lane: Lane, its: LaneCards, login: str, make: MakeRow, *, room: int) -> LaneView:
    limit, offset = form.window(MAX_CARDS)
    alone = form.section is not None  # then each card is listed
    same, rest = ([], its) if alone or lane is not Lane.FAILED else lanes.by_cause(its)
    total = len(its.cards)
    every = form.ways(lane, total, 0)[0][0]
    together = list[SameCauseView]()
    for cards_of_cause in islice(same, MAX_CAUSES):
        together.append(_together(cards_of_cause, every, make, room // 2))
        room -= sum(map(len, together[-1].rows))
    parts = rest.of(login, limit=limit, offset=offset)
    mine, others = (tuple(make(card, _verb(lane, card)) for card in part) for part in parts)
    if not alone:
        mine = tuple(fit_rows(mine, room))
        others = tuple(fit_rows(others, room - sum(map(len, mine))))
    shown = len(mine) + len(others) + sum(it.total for it in together)
    return LaneView(
        name=lane.value,
        total=total,
        same=tuple(together),
        mine=mine,
        others=others,
        heading="Other people's" if mine else "",
        left_out=form.left_out(total, shown),
        ways=form.ways(lane, total, shown),
    )


def _together(cards: Sequence[ListedCard], every: str, make: MakeRow, room: int) -> SameCauseView:
    rows = (make(card, _verb(Lane.FAILED, card)) for card in cards[:MAX_TOGETHER])
    return SameCauseView(
        total=len(cards),
        why=plain(cards[0].because, MAX_WHY),
        since=cards[0].state_at.isoformat(),
        rows=tuple(fit_rows(rows, room)),
        all=every,
    )


def _verb(lane: Lane, card: ListedCard) -> str:
    """Return the word that opens the card's decision; empty for a card that waits for nobody."""
    if lane not in WAITING_LANES or card.number is None:
        return ""
    return "Plan" if lane is Lane.NEEDS_INPUT and card.waits_for == PLAN else VERBS[lane]
