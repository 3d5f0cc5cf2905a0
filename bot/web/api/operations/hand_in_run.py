"""Hand in a run that you claimed, with a report: it succeeded, or it failed and why."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from bot.web.api import claims, jobs
from bot.web.api.jobs import JobRun, RunName, run_summary
from bot.web.api.operation import SiteRequest
from ledger.events.run import FinalReported
from ledger.queue.api_tokens import Scope
from runner.text.given import GivenText
from runner.text.metadata import SentMetadata

METHOD, PATH = "POST", "/runs/{run}/report"
SCOPE = Scope.ACT
EXAMPLE: Mapping[str, Any] = {"run": "r1", "generation": 1, "outcome": "succeeded", "done": "It says hello."}
MAX_DONE, MAX_LINE, MAX_LINES = 8_000, 500, 40
Lines = Annotated[
    list[Annotated[GivenText, Field(min_length=1, max_length=MAX_LINE)]], Field(max_length=MAX_LINES)
]


class SentReport(RunName):
    """The run, the claim, and its report, which the next run and the cards that depend on it get."""

    generation: int = Field(ge=1, le=2**31, description="The claim's")
    outcome: Literal["succeeded", "failed"] = Field(description="succeeded or failed")
    done: GivenText = Field(min_length=1, max_length=MAX_DONE, description="What was done, or why it failed")
    changed: Lines = Field(default_factory=list, description="What changed, one line each")
    check: Lines = Field(default_factory=list, description="What a reviewer should check, one line each")
    open_questions: Lines = Field(default_factory=list, description="What is still open, one line each")
    metadata: SentMetadata = Field(default_factory=dict, description="Facts by name, for programs")


Input, Output = SentReport, JobRun


def run(call: SiteRequest, given: SentReport) -> JobRun:
    """End the run once. Raises ApiError, BusyError, GithubError, ReusedKeyError."""
    known, succeeded = jobs.require_run(call, given.run), given.outcome == "succeeded"
    report = FinalReported(
        run_id=known.run_id,
        done=given.done,
        changed=tuple(given.changed),
        check=tuple(given.check),
        open_questions=tuple(given.open_questions),
        metadata=given.metadata,
    )
    return run_summary(claims.hand_in(call, known, given.generation, succeeded=succeeded, report=report))
