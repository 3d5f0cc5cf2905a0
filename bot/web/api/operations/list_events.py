"""List a job's events, newest last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.render.run.folded_steps import fold_rows, without_echoes
from bot.web.api import jobs
from bot.web.api.jobs import JobName
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.event import Zoom
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.queries.timeline import MAX_EVENTS
from runner.text.untrusted import without_invisible as clean

PATH = "/jobs/{owner}/{repository}/{number}/events"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1, "limit": 20}
MAX_LISTED = 200


class EventQuery(JobName):
    """The job, and which of its events."""

    limit: int = Field(100, ge=1, le=MAX_LISTED)
    before: int = Field(0, ge=0, le=2**60, description="Only events before this one; 0 for the newest")


class JobEvent(ApiModel):
    """One event."""

    seq: int = Field(description="Its number in the log; numbers only increase")
    at: datetime
    kind: str
    run: str = Field(description="Empty if the event belongs to no run")
    text: str


class EventPage(ApiModel):
    """A page of events."""

    events: list[JobEvent]


Input, Output = EventQuery, EventPage


def run(call: ApiRequest, given: EventQuery) -> EventPage:
    """Return them. Raises ApiError, BusyError."""
    card = jobs.card_of(call, given)
    return events_of(call, card.card_id, Zoom.ACTIVITY, given.limit, given.before or None)


def events_of(
    call: ApiRequest,
    card_id: CardId,
    zoom: Zoom,
    limit: int,
    before: int | None = None,
    *,
    folds: bool = False,
) -> EventPage:
    """Return the newest events of a card that the account may see, at that depth.

    With `folds`, an agent's steps in a row are one line at the depth activity, and a command that the comment
    before it says is left out, as on the card's page.
    """
    steps = folds and zoom is Zoom.ACTIVITY
    with event_store.reading(call.site.engine) as db:
        rows = timeline.of_card(db, card_id, zoom, MAX_EVENTS if steps else limit, before, steps=steps)
    if folds and zoom is not Zoom.DEBUG:
        rows = tuple(without_echoes(rows))
    if steps:
        rows = tuple(row for row, _ in fold_rows(rows))
    return EventPage(
        events=[
            JobEvent(seq=it.seq, at=it.at, kind=it.kind, run=it.run_id or "", text=clean(it.text))
            for it in rows[-limit:]
        ]
    )
