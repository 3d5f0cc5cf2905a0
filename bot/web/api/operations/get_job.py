"""Get one job, with its runs, its question and the commands you can give."""

from collections.abc import Mapping
from typing import Any

from bot.web.api import jobs
from bot.web.api.job_requests import PendingJobError
from bot.web.api.jobs import Job, JobName
from bot.web.api.operation import ApiRequest

PATH = "/jobs/{owner}/{repository}/{number}"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1}
Input, Output = JobName, Job


def run(call: ApiRequest, given: JobName) -> Job:
    """Return it. Raises ApiError, BusyError."""
    try:
        card = jobs.card_of(call, given)
    except PendingJobError as error:
        return jobs.pending_job(call, error.row)
    return jobs.whole_job(call, card)
