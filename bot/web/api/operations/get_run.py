"""Get one run, with its plan and checks."""

from collections.abc import Mapping
from typing import Any

from bot.web.api import jobs
from bot.web.api.jobs import JobRunDetail, RunName
from bot.web.api.operation import ApiRequest, not_found
from bot.web.site.visibility import run_visible
from ledger.log import event_store
from ledger.rows.runs import RunRow

PATH = "/runs/{run}"
EXAMPLE: Mapping[str, Any] = {"run": "r1"}
Input, Output = RunName, JobRunDetail


def run(call: ApiRequest, given: RunName) -> JobRunDetail:
    """Return it. Raises ApiError, BusyError."""
    row = visible(call, given)
    with event_store.reading(call.site.engine) as db:
        return jobs.run_detail(db, row)


def visible(call: ApiRequest, given: RunName) -> RunRow:
    """Return the run's row. Raises ApiError, BusyError."""
    known = run_visible(call.site, call.visit, given.run)
    if known is None:
        call.site.readers.must_be_able_to_ask(call.visit)
        raise not_found()
    return known[0]
