"""List runs, newest first: all, those of one job, or those that match a filter; as JSON or CSV."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bot.render.run.reasons import explain_run
from bot.state import run_filters
from bot.state.run_filters import MAX_DAYS
from bot.web.api import jobs
from bot.web.api.csv_text import csv_text
from bot.web.api.jobs import MAX_TEXT, NAME, JobName, JobRun, run_summary
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import run_list
from ledger.queries.card_filter import CardScope
from ledger.queries.run_list import ListedRun, RunChoices
from ledger.rows.cards import CardRow
from ledger.states import RunStatus
from runner.text.untrusted import without_invisible as clean

PATH = "/runs"
EXAMPLE: Mapping[str, Any] = {"limit": 10}
COLUMNS = ("run", "status", "job", "title", "by", "queued_at", "took_s", "usd", "why")
MAX_LISTED = 1000


class RunFilterFields(ApiModel):
    """Conditions on runs: all that are given must hold."""

    status: str = Field("", max_length=200, description=f"One of {', '.join(RunStatus)}")
    repository: str = Field("", max_length=200, description="owner/name, of the work or of the issue")
    person: str = Field("", max_length=200, description="The account that requested it")
    agent: str = Field("", max_length=200, description="Its agent, such as claude")
    reason: str = Field("", max_length=200, description="Why it ended, such as validation")
    days: int = Field(0, ge=0, le=MAX_DAYS, description="Queued in the last days, so many; 0 for all")


class RunQuery(RunFilterFields):
    """Of which job, which runs, and how many."""

    issue: str = Field(
        "",
        pattern=f"^({NAME}/{NAME}#[1-9][0-9]{{0,8}})?$",
        description="owner/repository#number of a job; empty for all",
    )
    limit: int = Field(20, ge=1, le=MAX_LISTED)
    after: str = Field("", pattern=r"^(r[1-9][0-9]{0,17})?$", description="`next` of the page before")


class JobRunInList(JobRun):
    """A run in a list, with its job."""

    repository: str = Field(description="owner/name of the issue's repository; empty for a draft")
    number: int = Field(description="The issue's number; 0 for a draft")
    title: str
    took_s: float | None = Field(description="Seconds since a worker took it, until it ended or until now")
    why: str = Field(description="Why it ended, what it does, or what it is waiting for")


class RunList(ApiModel):
    """A page of runs."""

    runs: list[JobRunInList] = Field(description="Newest first")
    total: int = Field(description="How many match in all, beyond `limit`")
    next: str = Field(description="Pass it as `after` for the next page; empty on the last one")


def as_csv(_call: ApiRequest, answer: RunList) -> str:
    """Return the list as CSV, with every fact."""
    return csv_text((it.model_dump(mode="json") for it in answer.runs), tuple(JobRunInList.model_fields))


Input, Output = RunQuery, RunList
AS_TEXT = {"text/csv": as_csv}


def run(call: ApiRequest, given: RunQuery) -> RunList:
    """Return a page of them. Raises ApiError, BusyError, FilterError."""
    card = None
    if given.issue:
        repository, _, number = given.issue.partition("#")
        owner, _, name = repository.partition("/")
        card = jobs.card_of(call, JobName(owner=owner, repository=name, number=int(number), board=""))
    return list_runs(call, given, card)


def list_runs(call: ApiRequest, given: RunQuery, card: CardRow | None) -> RunList:
    """Return a page of runs, of a card that the account may see or of all. Raises BusyError, FilterError."""
    scopes = [CardScope(card.board_id)] if card else [board.scope for board in call.boards]
    texts = {field: str(getattr(given, field) or "") for field in run_filters.FIELDS}
    with event_store.reading(call.site.engine) as db:
        named = any(texts[field] for field in run_filters.NAMES)
        known = run_list.run_choices(db, scopes) if named else RunChoices()
        wanted = run_filters.read(texts, known, call.site.clock(), card.card_id if card else None)
        after = RunId(given.after) if given.after else None
        listed = run_list.newest(db, scopes, wanted, after=after, limit=given.limit + 1)
        total = run_list.count_runs(db, scopes, wanted)
    page = listed[: given.limit]
    more = page[-1].run.run_id if len(listed) > len(page) else ""
    return RunList(runs=[describe_run(call, it) for it in page], total=total, next=more)


def describe_run(call: ApiRequest, it: ListedRun) -> JobRunInList:
    """Return a run of a list as the account sees it."""
    row = it.run
    until = row.ended_at or call.site.clock()
    return JobRunInList(
        **run_summary(row).model_dump(),
        repository=it.repository or "",
        number=it.number or 0,
        title=clean(it.title),
        took_s=None if row.claimed_at is None else (until - row.claimed_at).total_seconds(),
        why=clean(explain_run(row, it.because))[:MAX_TEXT],
    )
