"""Get the outcome of a request for a job."""

from enum import StrEnum

from pydantic import Field

from bot.web.api.operation import ApiModel, ApiRequest, not_found
from bot.web.site import holds
from ledger.log import event_store
from ledger.views import jobs
from runner.text.untrusted import without_invisible as clean

PATH = "/requests/{request}"
ALSO = ("/jobs/{request}",)  # before it has a number, a job has no other name
EXAMPLE = {"request": "0123456789abcdef01234567"}


class RequestState(StrEnum):
    """The outcome of a request."""

    PENDING = "pending"
    MADE = "made"
    FAILED = "failed"


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


class RequestName(ApiModel):
    """A request."""

    request: str = Field(pattern="^[0-9a-f]{24}$", description="The request that create_job returned")


Input, Output = RequestName, JobRequest


def run(call: ApiRequest, given: RequestName) -> JobRequest:
    """Return it. Raises ApiError, BusyError."""
    return request_of(call, given.request)


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
