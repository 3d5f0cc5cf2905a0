"""Requests for jobs, and the outcome of each."""

from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus

from pydantic import Field

from bot.web.api.operation import ApiError, ApiModel, ApiRequest, not_found
from bot.web.site import holds
from ledger.events.board import BoardEvent
from ledger.events.job import JobRequested
from ledger.log import event_store
from ledger.rows.jobs import JobRow
from ledger.views import jobs
from runner.text.untrusted import without_invisible as clean

LATE = timedelta(hours=1)  # after this long a card that was made is not on its way any more
SOON_S = 2
MAX_LOOKED_AT = 200  # requests of a board


class RequestState(StrEnum):
    """The outcome of a request."""

    PENDING = "pending"
    MADE = "made"
    FAILED = "failed"


class PendingJobError(ApiError):
    """The account asked for this job, and its card is not in the ledger yet."""

    def __init__(self, row: JobRow) -> None:
        self.row = row
        because = f"the card of {row.repository}#{row.number} is being made"
        super().__init__(
            HTTPStatus.SERVICE_UNAVAILABLE, "pending", because, "send it again in a few seconds", SOON_S
        )


class JobRequest(ApiModel):
    """A request for a job. Its card is made soon after: `get_request` has its number then."""

    state: RequestState = Field(
        description="pending until the card is made; failed where it will not be, for `problem`"
    )

    request: str = Field(description="Name of the request")
    repository: str
    number: int = Field(description="The issue's number; 0 until it is created")
    problem: str = Field(description="Why no issue will be created; empty if all is well")
    warnings: list[str] = Field(description="Why no run would start in its column right now")


def request_of(call: ApiRequest, key: str) -> JobRequest:
    """Return the account's own request. Raises ApiError, BusyError."""
    with event_store.reading(call.site.engine) as db:
        row = jobs.get(db, key)
    if row is None or row.user_id != call.visit.user_id:
        raise not_found()
    boards, at = [it for it in call.boards if it.board_id == row.board_id], call.site.clock()
    home = call.site.config.home
    with event_store.reading(call.site.engine) as db:
        warnings = [line for board in boards for line in holds.start_lines(db, board, row.column, at, home)]
    state = RequestState.MADE if row.card_id else RequestState.PENDING
    return JobRequest(
        state=RequestState.FAILED if row.problem else state,
        request=row.key,
        repository=row.repository,
        number=row.number,
        problem=clean(row.problem),
        warnings=warnings,
    )


def require_known(call: ApiRequest, repository: str, number: int) -> None:
    """Raise PendingJobError where the account asked for that job a moment ago."""
    with event_store.reading(call.site.engine) as db:
        mine = jobs.requested_since(db, call.visit.user_id, call.site.clock() - LATE)
    for row in mine:
        if (row.repository.casefold(), row.number) == (repository.casefold(), number):
            raise PendingJobError(row)


def wanted_title(call: ApiRequest, row: JobRow) -> str:
    """Return the title that was asked for; empty where many requests came since."""
    with event_store.reading(call.site.engine) as db:
        newest = event_store.newest_of(db, BoardEvent(row.board_id).stream, JobRequested, MAX_LOOKED_AT)
    return next((event.title for _, event in newest if event.key == row.key), "")
