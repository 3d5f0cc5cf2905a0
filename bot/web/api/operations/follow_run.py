"""Follow a run: its lines after an event; a stream if you accept server-sent events."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.api.operations import get_run
from bot.web.live.response import PageUpdate, StreamResponse, last_event_id, message
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.views import runs
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}/events"
EXAMPLE: Mapping[str, Any] = {"run": "r1", "after": 0}
MAX_LISTED, MAX_SEQ = 200, 2**60


class RunPlace(RunName):
    """The run, and where to begin."""

    after: int = Field(0, ge=0, le=MAX_SEQ, description="The last event you have; a stream's Last-Event-ID")


class JobRunLine(ApiModel):
    """One event of the run."""

    seq: int
    at: datetime
    text: str
    output: str = Field(description="Output of a program, with line breaks and colour codes")


class RunEvents(ApiModel):
    """A page of lines."""

    lines: list[JobRunLine]
    last: int = Field(description="The last event of this page: `after` of the next page")
    omitted: int = Field(description="Number of older events left out before the first line")
    more: bool = Field(description="More lines are ready")
    ended: bool = Field(description="The run has ended: if `more` is false, this is everything")


Input, Output = RunPlace, RunEvents


def run(call: ApiRequest, given: RunPlace) -> RunEvents:
    """Return a page of them. Raises ApiError, BusyError."""
    get_run.visible(call, given)
    return _page(call, RunId(given.run), given.after)


def stream(call: ApiRequest, given: RunPlace) -> StreamResponse:
    """Return them as they come. Raises ApiError, BusyError."""
    get_run.visible(call, given)
    run_id = RunId(given.run)

    def pull(after: int) -> PageUpdate:
        page = _page(call, run_id, after)
        lines = (message("line", json.dumps(it.model_dump(mode="json")), it.seq) for it in page.lines)
        ended = page.ended and not page.more
        return PageUpdate(b"".join(lines), b"", page.last, more=page.more, ended=ended)

    about, person, begin = run_lines.stream_of(run_id), call.visit.user_id, last_event_id(given.after)
    return StreamResponse(about, person, begin, pull, form="api")


def _page(call: ApiRequest, run_id: RunId, after: int) -> RunEvents:
    with event_store.reading(call.site.engine) as db:
        fresh, row = run_lines.later_lines(db, run_id, after, MAX_LISTED), runs.get(db, run_id)
    lines = [
        JobRunLine(seq=it.seq, at=it.at, text=clean(it.text), output=clean(it.output)) for it in fresh.lines
    ]
    ended = row is not None and row.ended_at is not None
    return RunEvents(lines=lines, last=fresh.last, omitted=fresh.omitted, more=fresh.more, ended=ended)
