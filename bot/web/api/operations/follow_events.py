"""Follow boards: events of their jobs and runs, by kind; a stream if you accept server-sent events."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import Field

from bot.web.api.operation import ApiError, ApiModel, ApiRequest
from ledger import codec
from ledger.event import Zoom
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import card_news, timeline
from ledger.queries.card_filter import CardScope
from ledger.queries.card_news import CardNews
from rules.text import plain
from runner.text.untrusted import without_invisible as clean

if TYPE_CHECKING:
    from bot.web.live.response import PageUpdate, StreamResponse

PATH = "/events"
EXAMPLE: Mapping[str, Any] = {"board": "acme/1", "kinds": "QuestionAsked,RunEnded"}
PAUSE_S = 1.0  # between two looks: what comes together costs one
# What every job says on GitHub, too: the depth debug is for operators.
KINDS = frozenset(name for name, kind in codec.kinds().items() if kind.zoom is not Zoom.DEBUG)


class EventsPlace(ApiModel):
    """Which events, and where to begin."""

    board: str = Field("", max_length=200, description="owner/number of a board; empty for all")
    kinds: str = Field("", max_length=2000, description="Kinds of events, separated by commas; empty for all")
    after: int = Field(
        0,
        ge=0,
        le=2**60,
        description="The last event you have; 0 to start from now. A stream's Last-Event-ID",
    )


class FollowedEvent(ApiModel):
    """One event."""

    seq: int = Field(description="Its number in the log; numbers only increase")
    at: datetime
    kind: str
    zoom: Zoom
    card: str = Field(description="Its card's id: the only name of a draft")
    repository: str = Field(description="owner/name of the job's issue; empty for a draft")
    number: int = Field(description="The issue's number; 0 for a draft")
    title: str
    run: str = Field(description="Empty if the event belongs to no run")
    text: str


class FollowedEvents(ApiModel):
    """A page of events."""

    events: list[FollowedEvent]
    last: int = Field(description="The last event of this page: pass it as `after` for the next one")
    omitted: bool = Field(description="Older events were left out: list_jobs shows the current state")
    more: bool = Field(description="More events are ready")


Input, Output = EventsPlace, FollowedEvents


def run(call: ApiRequest, given: EventsPlace) -> FollowedEvents:
    """Return a page of them. Raises ApiError, BusyError."""
    return read_events(call, _scopes(call, given), _kinds(given), _begin(call, given.after))


def stream(call: ApiRequest, given: EventsPlace) -> "StreamResponse":
    """Return them as they come. Raises ApiError, BusyError."""
    from bot.web.live.response import PageUpdate, StreamResponse, last_event_id, message

    scopes, kinds = _scopes(call, given), _kinds(given)
    sight = [(it.board_id, sorted(it.seen or ()), it.drafts) for it in scopes]
    about = hashlib.sha256(repr(("events", sorted(kinds), sight)).encode()).hexdigest()

    def pull(after: int) -> "PageUpdate":
        page = read_events(call, scopes, kinds, after)
        lines = [message("event", it.model_dump_json(), it.seq) for it in page.events]
        if page.omitted:
            lines.insert(0, message("omitted", json.dumps({"omitted": True}), after))
        # Its number tells a client that has got no event yet where to go on.
        return PageUpdate(b"".join(lines), b"id: %d\n\n" % page.last, page.last, more=page.more)

    begin = _begin(call, last_event_id(given.after))
    return StreamResponse(about, call.visit.user_id, begin, pull, of_all=True, pause_s=PAUSE_S)


def _scopes(call: ApiRequest, given: EventsPlace) -> Sequence[CardScope]:
    return [board.scope for board in call.boards_named(given.board)]


def _kinds(given: EventsPlace) -> frozenset[str]:
    wanted = frozenset(filter(None, map(str.strip, given.kinds.split(","))))
    if unknown := sorted(wanted - KINDS):
        because = f"`kinds` has {plain(', '.join(unknown), 300)}, which cannot be followed"
        remedy = "leave `kinds` out to see them all; docs/reference/events.md explains each"
        raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", because, remedy)
    return wanted or KINDS


def _begin(call: ApiRequest, after: int) -> int:
    if after:
        return after
    with event_store.reading(call.site.engine) as db:
        return event_store.last_seq(db)


def read_events(
    call: ApiRequest,
    scopes: Sequence[CardScope],
    kinds: Collection[str],
    after: int,
    *,
    card_id: CardId | None = None,
    whole: bool = False,
) -> FollowedEvents:
    """Return a page of events of these kinds, as `news_page` has them."""
    with event_store.reading(call.site.engine) as db:
        page = card_news.news_page(db, scopes, after, kinds, card_id=card_id, whole=whole)
    return FollowedEvents(
        events=list(map(_event, page.news)), last=page.last, omitted=page.omitted, more=page.more
    )


def _event(news: CardNews) -> FollowedEvent:
    row = timeline.event_line(news.card_id, news.recorded.seq, news.recorded.at, news.recorded.event)
    return FollowedEvent(
        seq=row.seq,
        at=row.at,
        kind=row.kind,
        zoom=row.zoom,
        card=news.card_id,
        repository=news.repository,
        number=news.number,
        title=clean(news.title),
        run=row.run_id or "",
        text=clean(row.text),
    )
