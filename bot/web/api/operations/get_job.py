"""Get one job, with its runs, its question and the commands you can give."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from bot.render.markdown.marker import without_marker
from bot.state import policies, snapshots
from bot.web.api import jobs
from bot.web.api.clean_rows import clean_row
from bot.web.api.jobs import (
    MAX_TEXT,
    JobName,
    JobRun,
    JobSummary,
    PendingJobError,
    address_of_board,
    run_summary,
)
from bot.web.api.operation import ApiModel, ApiRequest, SiteRequest
from bot.web.api.operations.get_run import run_detail
from ledger.events.board import BoardEvent
from ledger.events.job import JobRequested
from ledger.events.run import RERUN
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.run_rows import RunRows
from ledger.rows.cards import CardRow
from ledger.rows.jobs import JobRow
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.states import CardState, Priority
from ledger.views import hand_overs, messages, reports, runs
from ledger.views.hand_overs import HandOverRow
from ledger.views.reports import ReportRow
from rules.card.preferences import choose_priority, describe_next_run
from rules.explain import why
from runner.text.untrusted import without_invisible as clean

PATH = "/jobs/{owner}/{repository}/{number}"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1}
COLUMNS = {"runs": ("run", "status", "attempt", "agent", "by", "queued_at", "usd", "reason")}
PENDING = "pending: its card is being made"
MAX_BODY = 20_000
MAX_HAND_OVERS = 5
MAX_SAID = 200  # messages in a document
MAX_LOOKED_AT = 200  # requests of a board


class JobQuestion(ApiModel):
    """A question that waits."""

    question: str = Field(description="Its name; answer it with the command answer:<question>")
    text: str
    choices: list[str] = Field(description="Answers to choose from, numbered from 1")


class JobOffer(ApiModel):
    """A command that the token's account may give on the job now."""

    name: str = Field(description="Command to send, with its subject")
    label: str
    hint: str
    takes: str = Field(description="What its text means; empty if it takes none")
    choices: list[str] = Field(description="The texts it accepts, unless any will do")


class JobPull(ApiModel):
    """The pull request of a job."""

    number: int
    state: str
    draft: bool
    verdict: str = Field(description="Verdict of its reviews; empty for none")


class Job(JobSummary):
    """A job with all that a program needs to go on with it."""

    body: str
    labels: list[str]
    assignees: list[str]
    priority: Priority = Field(description="How urgent it is")
    priority_why: str = Field(description="What chose the priority")
    limits: str = Field(description="Limits of a run that would be queued now; empty where none could be")
    pull: JobPull | None
    runs: list[JobRun] = Field(description="Newest first, up to 20")
    plan: PlanRow | None
    report: ReportRow | None = Field(description="The report of its newest run that has one")
    handed_over: list[HandOverRow] = Field(
        description="What people said when they completed it; newest first, up to 5"
    )
    question: JobQuestion | None
    offers: list[JobOffer]


def write_job_document(call: ApiRequest, job: Job) -> str:
    """Return the card as a document, with its conversation and its runs."""
    from bot.web.api import markdown

    with event_store.reading(call.site.engine) as db:
        said = messages.newest(db, CardId(job.card), MAX_SAID)
        rows = [RunRows.read(db, it) for it in runs.of_card(db, CardId(job.card))]
    return markdown.write_card(job, [run_detail(call, it) for it in rows], tuple(map(clean_row, said)))


Input, Output = JobName, Job
AS_TEXT = {"text/markdown": write_job_document}


def run(call: ApiRequest, given: JobName) -> Job:
    """Return it. Raises ApiError, BusyError."""
    try:
        card = jobs.card_of(call, given)
    except PendingJobError as error:
        return pending_job(call, error.row)
    return whole_job(call, card)


def whole_job(call: ApiRequest, card: CardRow) -> Job:
    """Return a card with its runs, its question and the commands that fit. Raises BusyError."""
    with event_store.reading(call.site.engine) as db:
        listed = runs.of_card(db, card.card_id)
        snapshot = snapshots.of_card(db, card.card_id)
        policy = policies.in_force(db, card.board_id)
        because = why(policy, snapshots.with_place(db, snapshot)) if snapshot else ""
        chosen, next_limits = choose_priority(policy, card), describe_next_run(policy, card)
        newest = runs.get(db, card.run_id) if card.run_id else None  # a check of a push is none of its runs
        rows = RunRows.read(db, newest) if newest else None
        told = reports.of_runs(db, [it.run_id for it in listed if it.kind != RERUN])
        board = address_of_board(db, card)
        handed_over = hand_overs.newest(db, card.card_id, MAX_HAND_OVERS)
    question = rows.open_question if rows else None
    return Job(
        repository=card.repository or "",
        number=card.number or 0,
        card=card.card_id,
        title=clean(card.title),
        board=board,
        column=clean(card.column or ""),
        state=card.state,
        since=card.state_at,
        why=clean(because),
        run=card.run_id or "",
        usd=newest.usd if newest else 0.0,
        body=clean(without_marker(card.body))[:MAX_BODY],
        labels=[clean(label) for label in card.labels],
        assignees=list(card.assignees),
        priority=chosen.priority,
        priority_why=clean(chosen.why),
        limits=clean(next_limits),
        pull=None
        if card.pull_number is None
        else JobPull(
            number=card.pull_number, state=card.pull_state, draft=card.pull_draft, verdict=card.verdict
        ),
        runs=[run_summary(run) for run in listed],
        plan=clean_row(rows.plan) if rows else None,
        report=next((clean_row(told[it.run_id]) for it in listed if it.run_id in told), None),
        handed_over=list(map(clean_row, handed_over)),
        question=_question(question) if question else None,
        offers=list(_offers(call, card)),
    )


def pending_job(call: ApiRequest, row: JobRow) -> Job:
    """Return a job whose card is being made: no text and no labels yet. Raises BusyError."""
    return Job(
        repository=row.repository,
        number=row.number,
        card="",
        title=clean(_read_wanted_title(call, row)),
        board=next((f"{it.owner}/{it.number}" for it in call.boards if it.board_id == row.board_id), ""),
        column=clean(row.column),
        state=CardState.DRAFT,
        since=row.at,
        why=PENDING,
        priority=row.priority or Priority.NORMAL,
        priority_why=f"{row.by} chose it" if row.priority else "by default",
        limits="",
        run="",
        usd=0.0,
        body="",
        labels=[],
        assignees=[],
        pull=None,
        runs=[],
        plan=None,
        report=None,
        handed_over=[],
        question=None,
        offers=[],
    )


def _question(question: QuestionRow) -> JobQuestion:
    choices = [clean(choice) for choice in question.choices]
    return JobQuestion(question=question.question_id, text=clean(question.text)[:MAX_TEXT], choices=choices)


def _offers(call: ApiRequest, card: CardRow) -> Iterable[JobOffer]:
    if not isinstance(call, SiteRequest):  # in this process nothing is offered
        return
    from bot.web.acting import offered

    for form in offered.for_card(call.site, call.visit, card.card_id):
        offer = form.offer
        choices = [text for text, _ in offer.choices]
        yield JobOffer(
            name=offer.name,
            label=clean(offer.label),
            hint=clean(offer.hint),
            takes=clean(offer.asks),
            choices=choices,
        )


def _read_wanted_title(call: ApiRequest, row: JobRow) -> str:
    """Return the title that was asked for; empty where many requests came since."""
    with event_store.reading(call.site.engine) as db:
        newest = event_store.newest_of(db, BoardEvent(row.board_id).stream, JobRequested, MAX_LOOKED_AT)
    return next((event.title for _, event in newest if event.key == row.key), "")
