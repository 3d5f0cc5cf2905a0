"""The front page: the inbox of whoever is signed in, lane by lane over all boards."""

from dataclasses import dataclass

from flask import Response, make_response, render_template

from bot.web.acting import offered
from bot.web.pages._lists import MAX_ACTING, CardView, card_view
from bot.web.pages._site import SIGN_IN, TITLE, Site, VisibleBoard, when
from ledger.log import event_store
from ledger.queries.lanes import Lane, in_lanes
from ledger.queue.sign_ins import SignIn

EMPTY = "Nothing is on its way. Drag a card on your board into a column that starts work."
MORE = "Only what you may read on GitHub is listed. Files of a run are linked from the page of the run."


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane with the visitor's own cards and those of others, which the visitor may act on, too."""

    name: str
    mine: tuple[CardView, ...]
    others: tuple[CardView, ...]


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/")
    def front() -> Response:
        visit = site.visit()
        if visit is None:
            return site.page(TITLE, SIGN_IN, sign_in="/")
        boards = site.boards_of(visit)
        lanes = _lanes(site, visit, boards)
        shown = render_template(
            "front.html",
            title="Inbox",
            lines=() if any(lane.mine or lane.others for lane in lanes) else (EMPTY,),
            lanes=lanes,
            boards=boards,
            hint=f"{MORE} You are signed in as {visit.login} until {when(visit.until)}.",
            visit=visit,
        )
        return make_response(shown)


def _lanes(site: Site, visit: SignIn, boards: tuple[VisibleBoard, ...]) -> list[LaneView]:
    now, login = site.clock(), visit.login.casefold()
    mine: dict[Lane, list[CardView]] = {lane: [] for lane in Lane}
    others: dict[Lane, list[CardView]] = {lane: [] for lane in Lane}
    with event_store.reading(site.engine) as db:
        by_board = [in_lanes(db, board.board_id, board.seen, drafts=board.home) for board in boards]
    for lane, card in (
        (lane, card) for lanes in by_board for lane, listed in lanes.items() for card in listed
    ):
        own = login in (name.casefold() for name in card.people)
        listed_in = (mine if own else others)[lane]
        acts = lane is Lane.NEEDS_YOU and len(listed_in) < MAX_ACTING
        forms = offered.for_card(site, visit, card.card_id) if acts else ()  # may ask GitHub
        listed_in.append(card_view(card, now, forms))
    return [LaneView(lane.value, tuple(mine[lane]), tuple(others[lane])) for lane in Lane]
