"""Get one run whole: its plans, questions, stages, evidence, report, findings and files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from bot.render.run.observations import observation_lines
from bot.render.run.stages import list_touched
from bot.web.api import jobs
from bot.web.api.clean_rows import clean_row
from bot.web.api.jobs import JobRun, RunName, run_summary
from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.api.operations import list_artifacts
from bot.web.api.operations.list_artifacts import Artifact
from ledger.events.findings import FindingsReported
from ledger.log import event_store
from ledger.queries.run_rows import RunRows
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.views.checks import CheckRow, TierRow
from ledger.views.reports import ReportRow
from ledger.views.reproductions import ReproductionRow
from ledger.views.stages import StageRow
from rules.card.workflow_choice import describe_workflow
from rules.runs.mode import reason
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}"
EXAMPLE: Mapping[str, Any] = {"run": "r1"}
COLUMNS = {
    "plans": ("revision", "state", "by", "summary"),
    "questions": ("question_id", "asker", "text", "answered_by", "answer"),
    "stages": (
        *("entry", "stage", "target", "persona", "persona_source", "usd", "seconds"),
        *("files_changed", "lines_changed", "left_at", "touched", "summary"),
    ),
    "evidence": ("tier", "iteration", "command", "exit_code", "believed", "duration_s", "head"),
    "artifacts": list_artifacts.COLUMNS,
}
MAX_ROWS = 50  # of one kind, the newest


class RunTodo(ApiModel):
    """An item of the agent's own list."""

    item: str
    done: bool


class JobRunDetail(JobRun):
    """A run with all that the ledger has of it; lists are the oldest first, and have the newest rows."""

    repository: str
    column: str
    kind: str = Field(description="first, retry, revision and so on; check for one that only checks")
    asked: str = Field(description="What its person wrote; empty for a drag")
    door: str = Field(description="Where it was asked for: page, api, cli and so on; empty for the board")
    agent_version: str
    turns: int
    commits: int
    files_changed: int
    lines_changed: int
    base: str
    head: str
    pushed_head: str
    last_known: str = Field(description="The state it ended in, and the last line it said")
    last_line: str
    budget_usd: float = Field(description="Its whole budget; 0 for none")
    reserved_usd: float
    facts: dict[str, str] = Field(
        description="Why it is in its mode and workflow, network, tool servers, refusals, failures"
    )
    todos: list[RunTodo]
    plan: PlanRow | None = Field(description="The newest of `plans`")
    plans: tuple[PlanRow, ...]
    questions: tuple[QuestionRow, ...]
    stages: tuple[StageRow, ...]
    checks: list[str] = Field(description="Each command of the gate's latest run, with its exit code")
    evidence: tuple[CheckRow, ...] = Field(description="Each command; `tail` ends the output of a failed one")
    gate: TierRow | None = Field(description="The newest result on a clean checkout")
    reproductions: tuple[ReproductionRow, ...]
    report: ReportRow | None
    findings: FindingsReported | None
    artifacts: list[Artifact]


def write_run_document(_call: ApiRequest, run: JobRunDetail) -> str:
    """Return the run as a document."""
    from bot.web.api import markdown

    return markdown.write_run(run)


Input, Output = RunName, JobRunDetail
AS_TEXT = {"text/markdown": write_run_document}
COPIED = (
    *("repository", "column", "kind", "asked", "door", "agent_version", "turns", "commits", "files_changed"),
    *("lines_changed", "base", "head", "pushed_head", "last_known", "last_line"),
)


def run(call: ApiRequest, given: RunName) -> JobRunDetail:
    """Return it. Raises ApiError, BusyError."""
    row = jobs.require_run(call, given.run)
    with event_store.reading(call.site.engine) as db:
        return run_detail(call, RunRows.read(db, row))


def run_detail(call: ApiRequest, rows: RunRows) -> JobRunDetail:
    """Return a run that the account may see."""
    row, gate, seen, budget = clean_row(rows.run), rows.gate, rows.observations, rows.budget
    of_gate = (it for it in rows.checks if gate and it.iteration == gate.iteration)
    plans = tuple(map(clean_row, rows.plans[-MAX_ROWS:]))
    flow = describe_workflow(row.workflow, row.workflow_rule, row.workflow_value)
    about = {"Mode": reason(row.mode_rule, row.mode_value), "Workflow": flow, **observation_lines(seen)}
    ticks = seen.ticks.ljust(len(seen.todos), "0") if seen else ""
    return JobRunDetail(
        **run_summary(row).model_dump(),
        **{name: getattr(row, name) for name in COPIED},
        budget_usd=budget.budget_usd if budget else 0.0,
        reserved_usd=budget.open_usd if budget else 0.0,
        facts={name: clean(fact) for name, fact in about.items() if fact},
        todos=[
            RunTodo(item=clean(item), done=tick == "1")
            for item, tick in zip(seen.todos if seen else (), ticks, strict=False)
        ],
        plan=plans[-1] if plans else None,
        plans=plans,
        questions=tuple(map(clean_row, rows.questions[-MAX_ROWS:])),
        stages=tuple(
            clean_row(replace(it, touched=list_touched(it, rows.steps))) for it in rows.stages[-MAX_ROWS:]
        ),
        checks=[f"{clean(it.command)[: jobs.MAX_TEXT]}: exit code {it.exit_code}" for it in of_gate],
        evidence=tuple(
            clean_row(it if it.exit_code else replace(it, tail="")) for it in rows.checks[-MAX_ROWS:]
        ),
        gate=clean_row(gate),
        reproductions=tuple(map(clean_row, rows.reproductions[-MAX_ROWS:])),
        report=clean_row(rows.report),
        findings=clean_row(rows.findings),
        artifacts=[list_artifacts.summary(it) for it in rows.artifacts if list_artifacts.may_open(call, it)],
    )
