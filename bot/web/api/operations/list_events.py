"""List a job's events, newest last."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api import jobs
from bot.web.api.jobs import JobName
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.event import Zoom
from ledger.log import event_store
from ledger.queries import timeline
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
    with event_store.reading(call.site.engine) as db:
        rows = timeline.of_card(db, card.card_id, Zoom.ACTIVITY, given.limit, given.before or None)
    return EventPage(
        events=[
            JobEvent(seq=it.seq, at=it.at, kind=it.kind, run=it.run_id or "", text=clean(it.text))
            for it in rows
        ]
    )
