"""List the jobs that need a person, in the lanes of the inbox's page."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bot.web.api.jobs import JobFilter, JobSummary, job_summary
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.lanes import LANES, WAITING_LANES, Lane, LanePart
from ledger.states import ATTENTION

PATH = "/inbox"
EXAMPLE: Mapping[str, Any] = {"limit": 10}
COLUMNS = ("lane", "job", "state", "since", "people", "run", "title", "why")
MAX_LISTED = 1000


class InboxQuery(JobFilter):
    """Of which board, which jobs, and how many."""

    board: str = Field("", max_length=200, description="owner/number of a board; empty for all")
    mine: str = Field("", max_length=200, description="An account whose jobs come first in each lane")
    every: bool = Field(False, description="Jobs in a lane that need no one, too")
    limit: int = Field(30, ge=1, le=MAX_LISTED)


class InboxJob(JobSummary):
    """A job in a lane."""

    lane: Lane
    people: list[str] = Field(description="The people it is waiting for")


class Inbox(ApiModel):
    """The jobs that wait."""

    jobs: list[InboxJob] = Field(description="By lane, then the longest waiting first")
    total: int = Field(description="How many there are in all, beyond `limit`")
    others: int = Field(description="Jobs in a lane that are left out: they need no one")


Input, Output = InboxQuery, Inbox


def run(call: ApiRequest, given: InboxQuery) -> Inbox:
    """Return them. Raises ApiError, BusyError, FilterError."""
    boards = call.boards_named(given.board)
    scopes, states = [board.scope for board in boards], tuple(LANES) if given.every else ATTENTION
    with event_store.reading(call.site.engine) as db:
        wanted = given.read_filter(db, scopes, states)
        totals = lanes.lane_totals(db, scopes, wanted)
        shown = [lane for lane in Lane if lane in totals and (given.every or lane in WAITING_LANES)]
        parts = [LanePart(lane, given.limit) for lane in shown]
        listed = lanes.list_parts(db, scopes, parts, wanted, login=given.mine)
    jobs = [
        InboxJob(**job_summary(card, boards).model_dump(), lane=lane, people=list(card.people))
        for lane, cards in zip(shown, listed, strict=True)
        for card in cards
    ]
    total = sum(totals[lane] for lane in shown)
    return Inbox(jobs=jobs[: given.limit], total=total, others=sum(totals.values()) - total)
