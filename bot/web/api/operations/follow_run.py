"""Follow a run: its lines after an event; a stream if you accept server-sent events."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from bot.web.api import jobs
from bot.web.api.clean_rows import clean_row
from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queries.run_lines import MAX_BEHIND, RunLine
from ledger.views import runs

if TYPE_CHECKING:
    from bot.web.live.response import PageUpdate, StreamResponse

PATH = "/runs/{run}/events"
EXAMPLE: Mapping[str, Any] = {"run": "r1", "after": 0}
MAX_LISTED, MAX_SEQ = 200, 2**60


class RunPlace(RunName):
    """The run, and where to begin."""

    after: int = Field(0, ge=0, le=MAX_SEQ, description="The last event you have; a stream's Last-Event-ID")


class RunEvents(ApiModel):
    """A page of lines."""

    lines: list[RunLine]
    last: int = Field(description="The last event of this page: `after` of the next page")
    omitted: int = Field(description="Number of older events left out before the first line")
    more: bool = Field(description="More lines are ready")
    ended: bool = Field(description="The run has ended: if `more` is false, this is everything")


Input, Output = RunPlace, RunEvents


def run(call: ApiRequest, given: RunPlace) -> RunEvents:
    """Return a page of them. Raises ApiError, BusyError."""
    return read_lines(call, jobs.require_run(call, given.run).run_id, given.after)


def stream(call: ApiRequest, given: RunPlace) -> "StreamResponse":
    """Return them as they come. Raises ApiError, BusyError."""
    from bot.web.live.response import PageUpdate, StreamResponse, last_event_id, message

    run_id = jobs.require_run(call, given.run).run_id

    def pull(after: int) -> "PageUpdate":
        page = read_lines(call, run_id, after)
        lines = (message("line", json.dumps(to_jsonable_python(it)), it.seq) for it in page.lines)
        ended = page.ended and not page.more
        return PageUpdate(b"".join(lines), b"", page.last, more=page.more, ended=ended)

    about, person, begin = run_lines.stream_of(run_id), call.visit.user_id, last_event_id(given.after)
    return StreamResponse(about, person, begin, pull, form="api")


def read_lines(call: ApiRequest, run_id: RunId, after: int, behind: int | None = MAX_BEHIND) -> RunEvents:
    """Return a page of the lines of a run that the account may see, of its newest `behind` events or all."""
    with event_store.reading(call.site.engine) as db:
        fresh, row = run_lines.later_lines(db, run_id, after, MAX_LISTED, behind=behind), runs.get(db, run_id)
    ended = row is not None and row.ended_at is not None
    lines = list(map(clean_row, fresh.lines))
    return RunEvents(lines=lines, last=fresh.last, omitted=fresh.omitted, more=fresh.more, ended=ended)
