"""Get one job, with its runs, its question and the commands you can give."""

from collections.abc import Mapping
from typing import Any

from bot.web.api import jobs
from bot.web.api.jobs import Job, JobName
from bot.web.api.operation import ApiRequest

PATH = "/jobs/{owner}/{repository}/{number}"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1}
Input, Output = JobName, Job


def run(call: ApiRequest, given: JobName) -> Job:
    """Return it. Raises ApiError, BusyError."""
    return jobs.whole_job(call, jobs.card_of(call, given))
