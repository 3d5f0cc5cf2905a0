"""Get the outcome of a request for a job."""

from pydantic import Field

from bot.web.api.job_requests import JobRequest, request_of
from bot.web.api.operation import ApiModel, ApiRequest

PATH = "/requests/{request}"
ALSO = ("/jobs/{request}",)  # before it has a number, a job has no other name
EXAMPLE = {"request": "0123456789abcdef01234567"}


class RequestName(ApiModel):
    """A request."""

    request: str = Field(pattern="^[0-9a-f]{24}$", description="The request that create_job returned")


Input, Output = RequestName, JobRequest


def run(call: ApiRequest, given: RequestName) -> JobRequest:
    """Return it. Raises ApiError, BusyError."""
    return request_of(call, given.request)
