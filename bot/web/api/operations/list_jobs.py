"""List the jobs the account may see, newest first."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from pydantic import Field

from bot.web.api.jobs import JobFilter, JobSummary, job_summary
from bot.web.api.operation import ApiError, ApiModel, ApiRequest
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import lanes

PATH = "/jobs"
EXAMPLE: Mapping[str, Any] = {"state": "needs_input", "limit": 10}
COLUMNS = ("job", "board", "column", "state", "since", "run", "usd", "title", "why")
MAX_LISTED = 100


class JobQuery(JobFilter):
    """Conditions on jobs: all that are given must hold."""

    board: str = Field("", max_length=200, description="owner/number of a board")
    column: str = Field("", max_length=200, description="The column's name")
    subscribed: bool = Field(False, description="Only those the account follows")
    limit: int = Field(30, ge=1, le=MAX_LISTED)
    after: str = Field("", max_length=400, description="`next` of the page before")


class JobPage(ApiModel):
    """A page of jobs."""

    jobs: list[JobSummary]
    next: str = Field(description="Pass it as `after` for the next page; empty on the last one")


Input, Output = JobQuery, JobPage


def run(call: ApiRequest, given: JobQuery) -> JobPage:
    """Return a page of them. Raises ApiError, BusyError, FilterError."""
    boards = call.boards_named(given.board)
    scopes = [board.scope for board in boards]
    with event_store.reading(call.site.engine) as db:
        wanted = given.read_filter(db, scopes)
        place = read_cursor(given.after) if given.after else None
        if given.subscribed:
            wanted = replace(wanted, subscriber=call.visit.login)
        listed = lanes.newest(
            db, scopes, wanted, column=given.column or None, after=place, limit=given.limit + 1
        )
    page = listed[: given.limit]
    more = write_cursor(*lanes.lane_place(page[-1])) if len(listed) > len(page) else ""
    return JobPage(jobs=[job_summary(card, boards) for card in page], next=more)


def write_cursor(at: datetime, card_id: CardId) -> str:
    """Return the word for the place behind that card."""
    return base64.urlsafe_b64encode(json.dumps((at.isoformat(), card_id)).encode()).decode()


def read_cursor(word: str) -> tuple[datetime, CardId]:
    """Return the place that a word is for. Raises ApiError."""
    try:
        at, card_id = json.loads(base64.urlsafe_b64decode(word.encode()))
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or not card_id.isascii() or not card_id.isprintable():
            raise ValueError(word)
        moment = moment.astimezone(UTC)
    except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error):
        because = "`after` is not a valid position"
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "unfit_cursor", because, "send the `next` of the previous page"
        ) from None
    return moment, CardId(card_id)
