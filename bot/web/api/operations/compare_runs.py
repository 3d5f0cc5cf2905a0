"""Compare two runs of one job: ends, checks, cost, time, reports and files."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import Field

from bot.runspec.host_paths import read_stored_text
from bot.state import patches
from bot.state.snapshots import compare_rows
from bot.web.api.clean_rows import copy_fields
from bot.web.api.jobs import MAX_TEXT, JobRun, RunName, require_run, run_summary
from bot.web.api.operation import ApiError, ApiModel, ApiRequest
from bot.web.site.diff import DiffView, FileChange, parse_patch
from ledger.log import event_store
from ledger.rows.runs import RunRow
from runner.artifacts.backend import StoreError
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}/compare/{other}"
EXAMPLE: Mapping[str, Any] = {"run": "r1", "other": "r1"}
COLUMNS = {
    "runs": (
        *("run", "status", "agent", "again_of", "forked_at", "gate", "files_changed", "lines_changed"),
        *("usd", "active_s", "turns", "branch", "head", "done"),
    ),
    "files": ("path", "first", "second", "same"),
}
MAX_BYTES = 2_000_000  # of each patch that are read
log = logging.getLogger(__name__)


class TwoRuns(RunName):
    """Two runs of one job."""

    other: str = Field(pattern=r"^r[1-9][0-9]{0,17}$", description="The other run, such as r13")


class ComparedSide(JobRun):
    """One of the two runs."""

    again_of: str = Field(description="The run that it does again or was forked from; empty for none")
    forked_at: str = Field(description="Where it was forked: plan, question or stage:<name>")
    gate: str = Field(description="The newest result on a clean checkout: passed, failed, or empty")
    turns: int
    commits: int
    files_changed: int
    lines_changed: int
    head: str = Field(description="The commit of its branch on GitHub; empty before it was published")
    done: str = Field(description="What its report says was done")
    files_known: bool = Field(description="Its published change was read: `files` has all of it")


class ComparedFile(ApiModel):
    """A file that at least one of the two changed; `+3 -1` are its lines, empty where it is as before."""

    path: str
    first: str
    second: str
    same: bool = Field(description="Both made the very same change to it")


class RunComparison(ApiModel):
    """Two runs side by side."""

    runs: list[ComparedSide] = Field(description="The two, in the order in which they were named")
    files: list[ComparedFile]
    files_omitted: int
    diff_url: str = Field(
        description="Where GitHub shows what differs between the branches; empty if nowhere"
    )


Input, Output = TwoRuns, RunComparison


def run(call: ApiRequest, given: TwoRuns) -> RunComparison:
    """Return it. Raises ApiError, BusyError."""
    rows = require_run(call, given.run), require_run(call, given.other)
    if rows[0].card_id != rows[1].card_id:
        because = f"{given.run} and {given.other} are runs of two jobs"
        raise ApiError(HTTPStatus.CONFLICT, "two_jobs", because, "compare two runs of one job")
    changes = tuple(_read_change(call, it) for it in rows)
    by_name = [{file.name: file for file in change.files} if change else {} for change in changes]
    names = sorted({name for files in by_name for name in files})
    return RunComparison(
        runs=[_side(call, row, change) for row, change in zip(rows, changes, strict=True)],
        files=[_compare(name, *(files.get(name) for files in by_name)) for name in names],
        files_omitted=sum(change.omitted for change in changes if change),
        diff_url=_diff_url(call, *rows),
    )


def _side(call: ApiRequest, row: RunRow, change: DiffView | None) -> ComparedSide:
    with event_store.reading(call.site.engine) as db:
        compared = compare_rows(db, row)
    facts = {
        "gate": compared.gate,
        "head": row.pushed_head,
        "done": clean(compared.done)[:MAX_TEXT],
        "files_known": change is not None,
    }
    return ComparedSide(**{**copy_fields(ComparedSide, row), **run_summary(row).model_dump(), **facts})


def _read_change(call: ApiRequest, row: RunRow) -> DiffView | None:
    """Return the change that the guards let through; None where there is none, or the store has it not."""
    with event_store.reading(call.site.engine) as db:
        kept = patches.newest(db, row)
    if kept is None or not (kept.checked or call.is_operators):
        return None
    try:
        text = read_stored_text(call.site.config, call.site.engine, kept.digest, most_bytes=MAX_BYTES)
    except StoreError as error:
        log.warning("patch not compared digest=%s reason=%s", kept.digest, error)
        return None
    return None if text is None else parse_patch(text)


def _compare(name: str, first: FileChange | None, second: FileChange | None) -> ComparedFile:
    both = first is not None and second is not None
    same = both and first == second and not (first and first.omitted)
    return ComparedFile(path=name, first=_size(first), second=_size(second), same=same)


def _size(file: FileChange | None) -> str:
    return f"+{file.added} -{file.removed}" if file else ""


def _diff_url(call: ApiRequest, first: RunRow, second: RunRow) -> str:
    if not (first.pushed_head and second.pushed_head) or first.repository != second.repository:
        return ""
    heads = f"{first.pushed_head}..{second.pushed_head}"
    return f"{call.site.config.git_url}/{first.repository}/compare/{heads}"
