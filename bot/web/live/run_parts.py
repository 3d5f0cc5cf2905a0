"""The parts of a run's page that stay as they would be if it were loaded now, made from the run's rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from urllib.parse import quote

from flask import Blueprint
from markupsafe import Markup

from bot.render.markdown import links
from bot.render.run.evidence import LOG, failing_tests, newest
from bot.render.run.folded_steps import is_edit, kind_of_step, subjects_of
from bot.render.run.reasons import REASONS
from bot.render.run.stages import describe_touched, describe_usage, list_touched, stage_names
from bot.web.live.terminal import terminal_html
from bot.web.site.lists import fit_rows, newest_fitting
from bot.web.site.times import stamp
from ledger.events.run import BY_PUSH, CHECK, ToolUsed
from ledger.events.stage import FileTouched
from ledger.events.turn import SUBSCRIPTION
from ledger.events.witness import witness_text
from ledger.model.run_modes import FIX
from ledger.model.spend_limits import AS_REPORTED
from ledger.queries.run_lines import RunLine
from ledger.queries.run_rows import RunRows
from ledger.queries.run_spans import RunSpan, SpanKind, list_shown_spans
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending
from ledger.views.checks import CheckRow, TierRow
from ledger.views.stages import StageRow
from rules.card.workflow_choice import describe_workflow
from rules.text import brief, count, kind_of_run, plain, sentence, state_word, usd
from runner.checks import failure

MAX_LINE, MAX_TEXT, MAX_ROWS = 500, 4000, 50
MAX_OUTPUT = 2000  # characters of a failing check's output
MAX_SEGMENTS, MAX_NAME = 16, 40  # of the bar, and characters of one's name
MAX_TOUCHED = 12  # files of one stage
AT_WORK = (SpanKind.PLAN, SpanKind.WORK, SpanKind.CHECK, SpanKind.PUBLISH)
SHORT = timedelta(seconds=5)  # a way back through the queue that nobody asks about
NAMES = {
    SpanKind.QUEUE: "queue",
    SpanKind.SETUP: "set up",
    SpanKind.PLAN: "plan",
    SpanKind.WORK: "work",
    SpanKind.CHECK: "checks",
    SpanKind.PUBLISH: "publish",
}
ICONS = {
    "AgentSaid": "bot",
    "CommandChecked": "shield-check",
    "FinalReported": "flag",
    "PlanApproved": "check",
    "PlanProposed": "list-checks",
    "PlanRedirected": "undo-2",
    "PlanTicked": "check",
    "Progressed": "activity",
    "QuestionAnswered": "reply",
    "QuestionAsked": "message-circle-question-mark",
    "RunEnded": "flag",
    "RunParked": "pause",
    "RunRequeued": "play",
    "RunSteered": "message-square",
    "RunStopAsked": "circle-stop",
    "BranchExported": "git-branch",
    "BranchPushed": "git-pull-request-arrow",
    "ValidationEnded": "shield-check",
}
STEP_ICONS = {
    "run": "terminal",
    "edit": "pencil",
    "read": "file-text",
    "search": "search",
    "commit": "git-commit-horizontal",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of the bar: `kind` is its look, `grow` its share of the width; `since` where it lasts."""

    name: str
    kind: str
    grow: float = 0.0
    length: str = ""
    since: str = ""
    path: str = ""


def live_templates() -> Blueprint:
    """Return the blueprint by which pages find the templates of these parts."""
    return Blueprint("live", __name__, template_folder=".")


def describe_span(span: RunSpan) -> str:
    """Return what a run did in that span, as a person reads it."""
    if span.kind is SpanKind.WAIT:
        if span.person:
            return f"waited for {plain(span.person, MAX_NAME)}"
        if span.ended is not None:
            return "waited"
        return "paused" if span.why in ("pause", "limit") else "waiting for a person"
    return plain(span.stage, MAX_NAME) or NAMES[span.kind]


def icon_of(line: RunLine) -> str:
    """Return the icon of a line of the activity."""
    if line.failed:
        return "circle-x"
    if line.step is not None:
        return STEP_ICONS.get(kind_of_step(line.step), "wrench")
    return ICONS.get(line.kind, "circle-dot")


def bar(spans: Sequence[RunSpan], run: RunRow, card: CardRow, pull: str, now: datetime) -> list[Segment]:
    """Return the bar of a run: what it did and whom it waited for, then what is still to come."""
    story = list_shown_spans(spans, now, SHORT)
    cut, story = story[:-MAX_SEGMENTS], story[-MAX_SEGMENTS:]
    made = [_segment(span, run, now) for span in story]
    if cut:
        took = sum(span.seconds(now) for span in cut)
        earlier = f"{len(cut)} earlier steps"
        made.insert(0, Segment(earlier, "past", took, brief(timedelta(seconds=took))))
    if run.ending is not None:
        word, look = state_word(run.ending), "good" if run.ending is Ending.SUCCEEDED else "bad"
        look = "past" if run.ending is Ending.CANCELLED else look
        end = Segment(f"PR #{card.pull_number}", look, path=pull) if pull else Segment(word, look)
        return [*made, end]
    entered = {span.stage for span in spans}
    to_come = [name for name in stage_names(run) if name not in entered]
    if SpanKind.CHECK not in {span.kind for span in spans}:
        to_come.append(NAMES[SpanKind.CHECK])
    if run.kind != CHECK and run.mode == FIX:
        to_come.append(f"PR #{card.pull_number}" if pull else "pull request")
    return [*made, *(Segment(name, "next") for name in to_come[:MAX_SEGMENTS])]


def _segment(span: RunSpan, run: RunRow, now: datetime) -> Segment:
    name, going_on = describe_span(span), span.ended is None
    if span.kind is SpanKind.WAIT:
        kind = "wait"
    elif span.passed is not None:
        name, kind = (f"{name} ✓", "good") if span.passed else (f"{name} ✗", "bad")
    else:
        kind = "busy" if going_on and run.ending is None else "past"
    length = span.seconds(now)
    shown = "under 1 s" if length < 1 else brief(timedelta(seconds=length))
    since = span.began.isoformat() if going_on and run.ending is None else ""
    return Segment(name, kind, round(length, 1), shown, since)


def address_of_pull(git_url: str, card: CardRow) -> str:
    """Return the address of the card's pull request; empty without one."""
    if card.pull_number is None:
        return ""
    return f"{git_url}/{quote(card.pull_repository or card.repository or '')}/pull/{card.pull_number}"


def explain_failure(rows: RunRows) -> dict[str, object] | None:
    """Return why a run did not end well; None for one that is alive or did."""
    run = rows.run
    if run.ending in (None, Ending.SUCCEEDED):
        return None
    return {
        "title": {Ending.CANCELLED: "Cancelled", Ending.LOST: "Lost"}.get(
            run.ending or Ending.LOST, "Failed"
        ),
        "why": "" if run.ending is Ending.CANCELLED else REASONS.get(run.reason, ""),
        "detail": sentence(plain(run.detail, MAX_LINE)) if run.detail else "",
        "tests": [plain(name, 200) for name in failing_tests(rows.checks, 3)],
        "kept": count(run.kept, "commit") if run.kept else "",
    }


def list_checks(rows: RunRows) -> list[dict[str, object]]:
    """Return the commands that ran, the newest first; the newest failure of each has its tests and output."""
    current = {check.seq for check in newest(rows.checks)}
    return fit_rows(_check(row, current) for row in rows.checks[-MAX_ROWS:][::-1])


def _check(row: CheckRow, current: set[int]) -> dict[str, object]:
    good = row.exit_code == 0 and row.believed
    shows = row.seq in current and not good
    return {
        "seq": row.seq,
        "good": good,
        "old": row.seq not in current,
        "tier": row.tier,
        "command": plain(row.command, MAX_LINE),
        "exit_code": row.exit_code,
        "witnesses": plain(witness_text(row), MAX_LINE),
        "time": f"{row.duration_s:.1f} s",
        "head": row.head[:10],
        "tests": [plain(it, 200) for it in failure.read(row.command, row.tail).names[:5]] if shows else [],
        "output": terminal_html(row.tail[-MAX_OUTPUT:]) if shows else "",
        "log": row.log_digest and links.of_file("", row.run_id, row.log_digest, LOG),
    }


def evidence_of(gate: TierRow | None) -> dict[str, object] | None:
    """Return the gate's last result, as the check on its commit says it; None where it never ran."""
    if gate is None:
        return None
    image = "" if gate.image == "local" else gate.image
    facts = (
        ("head", gate.head),
        ("base", gate.base),
        ("image", plain(image)),
        ("definition of the checks, SHA-256", gate.definition),
        ("paths", plain(", ".join(gate.paths))),
    )
    result = "passed" if gate.passed else "failed"
    said = Markup("the gate {} on a clean checkout, on {}").format(result, stamp(gate.at))
    return {"result": said, "facts": facts}


def list_touched_files(
    rows: RunRows, spans: Sequence[RunSpan], steps: Sequence[tuple[datetime, ToolUsed]]
) -> list[tuple[str, list[str], int]]:
    """Return the files that were edited in each stage, or else chapter, the newest first, and how many more
    there are.
    """
    if rows.stages:
        entries = ((row, list_touched(row, steps)) for row in reversed(rows.stages))
        return fit_rows([_touched_by(row, touched) for row, touched in entries if touched][:MAX_ROWS])
    fallback = RunSpan(0, SpanKind.WORK, datetime.min)
    edits = [(at, step) for at, step in steps if is_edit(step)]

    def chapter(edit: tuple[datetime, ToolUsed]) -> str:
        begun = (span for span in reversed(spans) if span.began <= edit[0])
        return describe_span(next((span for span in begun if span.kind in AT_WORK), fallback))

    made = list[tuple[str, list[str], int]]()
    for name, group in groupby(edits, chapter):
        names = list(dict.fromkeys(plain(it, 200) for _, step in group for it in subjects_of(step)))
        made.append((name, names[:MAX_TOUCHED], max(0, len(names) - MAX_TOUCHED)))
    return fit_rows(made[:MAX_ROWS])


def _touched_by(row: StageRow, touched: Sequence[FileTouched]) -> tuple[str, list[str], int]:
    times = f" ×{row.number}" if row.number > 1 else ""
    files = [plain(describe_touched(file), 200) for file in touched[:MAX_TOUCHED]]
    return plain(f"{row.stage}{times}", MAX_NAME), files, max(row.files_changed, len(touched)) - len(files)


def usage_by_stage(rows: RunRows, spans: Sequence[RunSpan], now: datetime) -> list[tuple[str, str, str]]:
    """Return name, mark and usage of each stage; without stages, of each kind of work that cost something."""
    if rows.stages:
        of_rows = (
            (plain(row.stage, MAX_NAME), "●" if row.left_at is None else "✓", describe_usage([row]))
            for row in rows.stages[-MAX_ROWS:]
        )
        return newest_fitting(of_rows)
    return list(_usage_of_spans(spans, now))


def _usage_of_spans(spans: Sequence[RunSpan], now: datetime) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys(NAMES[span.kind] for span in spans if span.kind is not SpanKind.WAIT):
        same = [span for span in spans if NAMES.get(span.kind) == name]
        tokens = sum(span.input_tokens + span.output_tokens for span in same)
        cost = sum(span.usd for span in same)
        if cost or tokens:
            took = brief(timedelta(seconds=sum(span.seconds(now) for span in same)))
            yield name, "", f"{usd(cost)} · {tokens:,} tokens · {took}"


def describe_change(run: RunRow) -> str:
    """Return the size of the run's change; empty where nothing differs."""
    sizes = ((run.files_changed, "file"), (run.lines_changed, "line"))
    return ", ".join(count(size, word) for size, word in sizes if size)


def facts_of(run: RunRow) -> tuple[tuple[str, str], ...]:
    """Return the facts of a run, as pairs of a name and a value."""
    by = "a push" if (run.kind, run.by) == (CHECK, BY_PUSH) else run.by
    return (
        ("Agent", plain(f"{run.played} {run.agent_version}".strip())),
        ("Asked by", plain(f"{by}{f' ({run.door})' if run.door else ''}")),
        ("Repository", plain(run.repository)),
        ("Branch", plain(run.own_branch)),
        ("Kind", kind_of_run(run.attempt, run.kind)),
        ("Workflow", plain(describe_workflow(run.workflow, run.workflow_rule, run.workflow_value))),
    )


def spending_of(rows: RunRows, settings: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """Return what the run used of what it may."""
    run, budget = rows.run, rows.budget
    allowed = (
        budget.budget_usd if budget is not None and budget.budget_usd > 0 else settings.get("budget_usd")
    )
    limit = settings.get("timeout_minutes")
    estimate = " (an estimate: a subscription pays)" if run.payer == SUBSCRIPTION else ""
    estimate = AS_REPORTED if run.is_reported else estimate
    cost = f"{usd(run.usd)}{f' of {usd(float(allowed))}' if isinstance(allowed, int | float) else ''}"
    time = brief(timedelta(seconds=run.active_s))
    tokens = f"{run.input_tokens:,} in · {run.output_tokens:,} out"
    return (
        ("Spent", f"{cost}{estimate}"),
        ("Time at work", f"{time} of {limit:g} min" if isinstance(limit, int | float) else time),
        ("Tokens", tokens if run.input_tokens or run.output_tokens else ""),
    )
