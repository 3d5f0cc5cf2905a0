"""List the jobs that need a person, in the lanes of the inbox's page."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from pydantic import Field

from bot.web.api.jobs import JobFilter, JobSummary, job_summary
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.lanes import LANES, Lane
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
        wanted = given.wanted(db, scopes, states)
        by_lane = lanes.by_lane(db, scopes, wanted)
    count = sum(len(it.cards) for it in by_lane.values())
    listed = [
        (lane, card)
        for lane in Lane
        for card in chain(*by_lane[lane].of(given.mine, limit=count))
        if card.state in states or lane is Lane.FAILED
    ]
    shown = [
        InboxJob(**job_summary(card, boards).model_dump(), lane=lane, people=list(card.people))
        for lane, card in listed[: given.limit]
    ]
    return Inbox(jobs=shown, total=len(listed), others=count - len(listed))
