"""The front page: the signed-in person's inbox, lane by lane over all boards, decisions in place."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from flask import Response, current_app, render_template, request
from markupsafe import Markup
from sqlalchemy import Connection

from bot.state import policies
from bot.web.site import decisions, following, parameters
from bot.web.site.filters import FilterForm, filter_form
from bot.web.site.following import ListHtml
from bot.web.site.holds import MAX_WHY
from bot.web.site.layout import TITLE, Site
from bot.web.site.lists import MAX_ACTING, card_view, fit_rows, inbox_row_html
from bot.web.site.parameters import ACTED
from bot.web.site.times import stamp
from bot.web.site.visibility import VisibleBoard, may_see
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queries.lanes import LANES, PLAN, WAITING_LANES, Asked, Lane, LanePart, ListedCard, SameCause
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
RightToAnswer = Callable[[str, Asked], bool]  # of a login
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


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """How many cards match, of each lane before it is a person's, and of each cause of several."""

    totals: Mapping[Lane, int]
    causes: Mapping[str, SameCause]


@dataclass(frozen=True, slots=True)
class ListedLane:
    """A lane as the visitor reads it: the cards to list, and beside them those of each cause."""

    lane: Lane
    total: int
    cards: Sequence[ListedCard]
    same: Sequence[tuple[SameCause, Sequence[ListedCard]]] = ()


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
            listed = _list_lanes(db, form, scopes, _count(db, form, scopes), login=visit.login, may=may)
            waiting = lanes.count_waiting_cards(db, scopes)
        make = _rows_with_decisions(site, visit, form)
        return following.page(
            "front.html",
            "/live/inbox",
            after,
            title="Inbox",
            filter=form,
            boards=boards,
            hint=Markup("{} You are signed in as {} until {}.").format(MORE, visit.login, stamp(visit.until)),
            visit=visit,
            waiting=waiting,
            **_list_values(form, listed, visit.login, make),
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
    """Return the maker of the reader's own rows: the first ones have their decisions, others fetch them.

    One is open, but not of the card that was just replied to on GitHub: the ledger hears of that later.
    """
    row, places, room = inbox_row_html(), iter(range(MAX_ACTING)), MAX_DECISIONS
    replied, opened = request.args.get(ACTED, "").partition(":")[2], False

    def make(card: ListedCard, verb: str) -> Markup:
        nonlocal room, opened
        view, place = card_view(card, site.clock()), next(places, None) if verb else None
        # This may ask GitHub.
        it = None if place is None else decisions.find_decision(site, visit, card.card_id)
        opens = it is not None and not opened and card.card_id != replied
        made = row(view, form.address, verb, it, open=opens)
        if it is None or len(made) > room:
            return made if it is None else row(view, form.address, verb)
        room -= len(made)
        opened = opened or opens
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

    def may(login: str, asked: Asked) -> bool:
        role = roles.get(asked.repository, "")
        return not asked.waits_for or permits(login, asked.board_id, role, asked.waits_for)

    return may


def _maker(
    site: Site, form: FilterForm, scopes: Sequence[CardScope], roles: Mapping[str, str]
) -> Callable[[Connection], ListHtml]:
    """Return the maker of the list for all its readers, outside of requests."""
    row, template = inbox_row_html(), current_app.jinja_env.get_template("parts/front_list.html")

    def make(db: Connection) -> ListHtml:
        counts, made = _count(db, form, scopes), dict[tuple[str, str], Markup]()
        may, waiting = _right_to_answer(db, scopes, roles), lanes.count_waiting_cards(db, scopes)

        def once(card: ListedCard, verb: str) -> Markup:
            """Return the row, made once for all readers; its decision is fetched by who opens it."""
            key = card.card_id, verb
            if key not in made:
                made[key] = row(replace(card_view(card, site.clock()), waits=""), form.address, verb)
            return made[key]

        @cache
        def text(login: str) -> str:
            """Return the list of a person, who may have several open."""
            with event_store.reading(site.engine) as db:
                listed = _list_lanes(db, form, scopes, counts, login=login, may=may)
            return template.render(filter=form, waiting=waiting, **_list_values(form, listed, login, once))

        return text

    return make


def _form(db: Connection, scopes: Sequence[CardScope]) -> FilterForm:
    return filter_form(db, "/", scopes, states=tuple(LANES), key="lane", sections=tuple(Lane))


def _count(db: Connection, form: FilterForm, scopes: Sequence[CardScope]) -> LaneCounts:
    """Count the cards that match; none for a filter that cannot be read."""
    if form.wanted is None:
        return LaneCounts({}, {})
    totals, alone = lanes.lane_totals(db, scopes, form.wanted), form.section is not None
    # A lane that is shown alone lists each card.
    return LaneCounts(totals, {} if alone else lanes.count_causes(db, scopes, form.wanted))


def _list_lanes(
    db: Connection,
    form: FilterForm,
    scopes: Sequence[CardScope],
    counts: LaneCounts,
    *,
    login: str,
    may: RightToAnswer,
) -> list[ListedLane]:
    """Return the lanes to show, as the person reads them: what only others may answer stands apart."""
    if form.wanted is None:
        return []
    totals, causes, (limit, offset) = Counter(counts.totals), counts.causes, form.window(MAX_CARDS)
    asked = lanes.count_asked(db, scopes, form.wanted, login) if totals[Lane.NEEDS_INPUT] else {}
    closed = frozenset(it for it in asked if not may(login, it))
    totals[Lane.NEEDS_OTHERS] = sum(asked[it] for it in closed)
    totals[Lane.NEEDS_INPUT] -= totals[Lane.NEEDS_OTHERS]
    # One that is shown alone is shown without a card, too: it leads back to all.
    shown = [lane for lane in Lane if form.shows(lane) and (totals[lane] or form.section)]
    parts = [LanePart(lane, limit, offset, closed, without=tuple(causes)) for lane in shown if totals[lane]]
    together = islice(causes, MAX_CAUSES) if Lane.FAILED in shown else ()
    parts += [LanePart(Lane.FAILED, MAX_TOGETHER, cause=cause) for cause in together]
    listed = lanes.list_parts(db, scopes, parts, form.wanted, login=login)
    cards_of = {part.lane: cards for part, cards in zip(parts, listed, strict=True) if not part.cause}
    same = [(causes[part.cause], cards) for part, cards in zip(parts, listed, strict=True) if part.cause]
    return [
        ListedLane(lane, totals[lane], cards_of.get(lane, ()), same if lane is Lane.FAILED else ())
        for lane in shown
    ]


def _list_values(
    form: FilterForm, listed: Sequence[ListedLane], login: str, make: MakeRow
) -> dict[str, object]:
    """Return the values of the list as the person sees it."""
    nothing = not (form.narrows or form.problem or listed)
    return {
        "nothing": EMPTY if nothing else "",
        "total": sum(it.total for it in listed),
        "lanes": _views(form, listed, login, make),
    }


def _views(form: FilterForm, listed: Sequence[ListedLane], login: str, make: MakeRow) -> Sequence[LaneView]:
    """Return the lanes; of long texts the first lanes show more, and each lane a little."""
    views, room = list[LaneView](), MAX_ROWS
    for place, it in enumerate(listed, start=1):
        views.append(_view(form, it, login, make, room=room - LITTLE * (len(listed) - place)))
        same = (row for group in views[-1].same for row in group.rows)
        room -= sum(map(len, (*same, *views[-1].mine, *views[-1].others)))
    return views


def _view(form: FilterForm, it: ListedLane, login: str, make: MakeRow, *, room: int) -> LaneView:
    lane, total = it.lane, it.total
    every = form.ways(lane, total, 0)[0][0] if it.same else ""
    together = list[SameCauseView]()
    for same, listed_cards in it.same:
        together.append(_together(same, listed_cards, every, make, room // 2))
        room -= sum(map(len, together[-1].rows))
    parted: tuple[list[Markup], list[Markup]] = [], []
    for card in it.cards:
        parted[not card.is_own(login)].append(make(card, _verb(lane, card)))
    mine, others = map(tuple, parted)
    if form.section is None:
        mine = tuple(fit_rows(mine, room))
        others = tuple(fit_rows(others, room - sum(map(len, mine))))
    shown = len(mine) + len(others) + sum(group.total for group in together)
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


def _together(
    same: SameCause, cards: Sequence[ListedCard], every: str, make: MakeRow, room: int
) -> SameCauseView:
    rows = (make(card, _verb(Lane.FAILED, card)) for card in cards)
    return SameCauseView(
        total=same.total,
        why=plain(cards[0].because, MAX_WHY),
        since=same.since.isoformat(),
        rows=tuple(fit_rows(rows, room)),
        all=every,
    )


def _verb(lane: Lane, card: ListedCard) -> str:
    """Return the word that opens the card's decision; empty for a card that waits for nobody."""
    if lane not in WAITING_LANES or card.number is None:
        return ""
    return "Plan" if lane is Lane.NEEDS_INPUT and card.waits_for == PLAN else VERBS[lane]
