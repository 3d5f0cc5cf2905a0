"""List the jobs that need a person: questions first, then failures and finished work."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bot.web.api.jobs import JobSummary, job_summary
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.queries import lanes
from ledger.states import ATTENTION

PATH = "/inbox"
EXAMPLE: Mapping[str, Any] = {"limit": 10}
MAX_LISTED = 100


class InboxQuery(ApiModel):
    """Of which board, and how many."""

    board: str = Field("", max_length=200, description="owner/number of a board; empty for all")
    limit: int = Field(30, ge=1, le=MAX_LISTED)


class Inbox(ApiModel):
    """The jobs that wait."""

    jobs: list[JobSummary] = Field(description="Most urgent first, then longest waiting")
    total: int = Field(description="How many are waiting in all, beyond `limit`")


Input, Output = InboxQuery, Inbox


def run(call: ApiRequest, given: InboxQuery) -> Inbox:
    """Return them. Raises ApiError, BusyError."""
    boards = call.boards_named(given.board)
    scopes = [board.scope for board in boards]
    with event_store.reading(call.site.engine) as db:
        waiting, counts = lanes.waiting_cards(db, scopes, limit=given.limit), lanes.lane_counts(db, scopes)
    total = sum(by_state.get(state, 0) for by_state in counts.values() for state in ATTENTION)
    return Inbox(jobs=[job_summary(card, boards) for card in waiting], total=total)
