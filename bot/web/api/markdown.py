"""A run, a card or a board as one Markdown document, in which outside text has no structure of its own."""

from collections.abc import Iterable, Iterator, Sequence

from bot.render.markdown.escape import block, code, line, make_inert, quote
from bot.web.api.jobs import JobSummary
from bot.web.api.operations.get_job import Job
from bot.web.api.operations.get_run import JobRunDetail
from bot.web.api.operations.show_board import BoardDetail
from ledger.model.metadata import metadata_lines
from ledger.model.spend_limits import AS_REPORTED
from ledger.rows.messages import MessageRow
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.views.checks import CheckRow
from ledger.views.reports import ReportRow
from rules.text import count, state_word, usd

MAX_CHARS = 400_000  # of a document
MAX_LINE, MAX_QUOTE = 500, 20_000


def write_run(run: JobRunDetail) -> str:
    """Return the document of a run."""
    return _join(_run_parts(run, "#"))


def write_card(job: Job, runs: Sequence[JobRunDetail], conversation: Sequence[MessageRow]) -> str:
    """Return the document of a card: what it is, its conversation, and its runs, newest first."""
    return _join(_card_parts(job, runs, conversation))


def write_board(board: BoardDetail) -> str:
    """Return the document of a board: its columns with the jobs that are listed."""
    return _join(_board_parts(board))


def _join(parts: Iterable[str]) -> str:
    """Return the parts as paragraphs; those that are too many for one document are counted."""
    kept, room, left_out = list[str](), MAX_CHARS, 0
    for part in filter(None, parts):
        room -= len(part) + 2
        if room < 0:
            left_out += 1
        else:
            kept.append(part)
    note = [f"_{count(left_out, 'part')} left out: the document would be too long._"] if left_out else []
    return "\n\n".join((*kept, *note)) + "\n"


def _card_parts(job: Job, runs: Sequence[JobRunDetail], conversation: Sequence[MessageRow]) -> Iterator[str]:
    yield f"# {_name_of(job)}: {_line(job.title)}"
    pull = job.pull
    draft = ", a draft" if pull and pull.draft else ""
    total = f"{count(len(job.runs), 'run')}, {usd(sum(it.usd for it in job.runs))}" if job.runs else ""
    yield _facts(
        ("State", f"{state_word(job.state) or 'at rest'} since {job.since:%Y-%m-%d %H:%M} UTC"),
        ("Why", _line(job.why)),
        ("Board", f"{_line(job.board)}, {_line(job.column) or 'no column'}"),
        ("Labels", ", ".join(code(label) for label in job.labels)),
        ("Assignees", ", ".join(code(login) for login in job.assignees)),
        ("Pull request", f"{pull.number}, {_line(pull.state)}{draft}" if pull else ""),
        ("Newest runs", total),
    )
    yield from _section("## Description", _quote(job.body))
    said = (
        f"**{_line(it.author) or 'the planning assistant'}**, {it.at:%Y-%m-%d %H:%M} UTC\n\n{_quote(it.text)}"
        for it in conversation
    )
    yield from _section("## Conversation", *said)
    for it in job.handed_over:
        who = f"**{_line(it.by)}**, {it.at:%Y-%m-%d %H:%M} UTC"
        yield from _section("## Handed over", who, _quote(it.text), _items(metadata_lines(it.metadata)))
    for run in runs:
        yield from _run_parts(run, "##")


def _run_parts(run: JobRunDetail, head: str) -> Iterator[str]:
    spent = usd(run.usd) + (AS_REPORTED if run.cost_is_reported else "")
    yield f"{head} Run {run.run}: {state_word(run.status)}"
    yield _facts(
        ("Work", code(run.repository) if run.repository else ""),
        ("Branch", code(run.branch) if run.branch else ""),
        ("Agent", f"{code(f'{run.agent} {run.agent_version}'.strip())}, attempt {run.attempt}, {run.mode}"),
        ("Requested by", code(run.by)),
        ("Queued", f"{run.queued_at:%Y-%m-%d %H:%M} UTC"),
        ("Ended", f"{run.ended_at:%Y-%m-%d %H:%M} UTC" if run.ended_at else ""),
        ("Cost", f"{spent}, {run.active_s / 60:.1f} min at work, {count(run.turns, 'turn')}"),
        (
            "Changed",
            f"{count(run.files_changed, 'file')}, {count(run.lines_changed, 'line')}" if run.head else "",
        ),
        ("Commit", code(run.pushed_head or run.head) if run.pushed_head or run.head else ""),
        *((name, _line(text)) for name, text in run.facts.items()),
    )
    yield from _section(f"{head}# Why it ended", _quote(run.reason) if run.status != "succeeded" else "")
    yield from _section(f"{head}# Report", *(_report(run.report) if run.report else ()))
    findings = run.findings.findings if run.findings else ()
    yield from _section(
        f"{head}# Findings",
        *(f"**{_line(it.title)}**\n\n{_quote(it.cause)}\n\n{_quote(it.fix)}" for it in findings),
    )
    for plan in run.plans:
        yield from _section(f"{head}# Plan {plan.revision}, {_line(plan.state)}", *_plan(plan))
    yield from _section(f"{head}# Questions", *map(_question, run.questions))
    yield from _section(f"{head}# Checks", _evidence(run.evidence), *_tails(run.evidence))
    files = (f"- {_line(it.kind)}: {code(it.name)}, {it.size_bytes:,} bytes" for it in run.artifacts)
    yield from _section(f"{head}# Files", "\n".join(files))


def _board_parts(board: BoardDetail) -> Iterator[str]:
    yield f"# Board {_line(board.board)}: {_line(board.title)}"
    yield _items(board.stops)
    for column in board.columns:
        total = sum(column.jobs.values())
        yield f"## {_line(column.name) or 'No column'} ({total:,})"
        yield _items([column.meaning] if column.meaning else [])
        yield _table(("card", "state", "run", "cost", "title", "why"), map(_job_row, column.listed))
        if (more := total - len(column.listed)) > 0:
            yield f"_{count(more, 'more card')}._"


def _job_row(job: JobSummary) -> Sequence[str]:
    return (
        *(_name_of(job), state_word(job.state), job.run, usd(job.usd) if job.usd else ""),
        *(_line(job.title), _line(job.why)),
    )


def _report(report: ReportRow) -> Iterator[str]:
    yield _quote(report.done)
    for title, items in (
        ("What changed", report.changed),
        ("What to check", report.check),
        ("Open questions", report.open_questions),
        ("Metadata", metadata_lines(report.metadata)),
    ):
        if items:
            yield f"**{title}**\n\n{_items(items)}"


def _plan(plan: PlanRow) -> Iterator[str]:
    yield _quote(plan.summary)
    yield "\n".join(f"{place}. {_line(step)}" for place, step in enumerate(plan.steps, start=1))
    if plan.text:
        yield f"**{_line(plan.by) or 'Someone'}**:\n\n{_quote(plan.text)}"


def _question(question: QuestionRow) -> str:
    choices = "\n".join(f"{place}. {_line(it)}" for place, it in enumerate(question.choices, start=1))
    said = f"**{_line(question.answered_by)}** answered:\n\n{_quote(question.answer)}"
    if question.answered_at is None:
        said = "_never answered_" if question.withdrawn else "_waiting for an answer_"
    return "\n\n".join(filter(None, (_quote(question.text), choices, said)))


def _evidence(checks: Sequence[CheckRow]) -> str:
    rows = (
        (
            _line(it.tier),
            code(it.command),
            f"exit code {it.exit_code}{'' if it.believed else f', not believed: {_line(it.why)}'}",
            f"{it.duration_s:.1f} s",
            code(it.head[:12]) if it.head else "",
        )
        for it in checks
    )
    return _table(("tier", "command", "result", "took", "commit"), rows)


def _tails(checks: Sequence[CheckRow]) -> Iterator[str]:
    failed = [it for it in checks if it.tail.strip()]
    return (f"{code(it.command)}\n\n{block(it.tail)}" for it in failed[-1:])


def _name_of(job: JobSummary) -> str:
    return code(f"{job.repository}#{job.number}") if job.number else f"Draft {code(job.card)}"


def _section(head: str, *parts: str) -> Iterator[str]:
    """Yield a head and its parts; nothing for no parts."""
    kept = list(filter(None, parts))
    if kept:
        yield from (head, *kept)


def _facts(*facts: tuple[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in facts if text)


def _items(items: Iterable[str]) -> str:
    return "\n".join(f"- {_line(item)}" for item in items)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *lines)) if lines else ""


def _line(text: str) -> str:
    return make_inert(line(text, MAX_LINE))


def _quote(text: str) -> str:
    return make_inert(quote(text, MAX_QUOTE))
