"""A run as spans: one trace, whose ids follow from the log, so that a span that is sent twice is one span."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.traces import genai
from ledger.queries.run_spans import RunSpan, SpanKind
from ledger.queries.run_trace import CommandTime, RunTrace
from ledger.states import Ending

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_SPANS = 500  # of each sort in one trace
MAX_COMMAND = 200  # characters
AT_WORK = (SpanKind.PLAN, SpanKind.WORK)
Attributes = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One span; the times are in nanoseconds since 1970. `parent_id` is 0 for the whole run."""

    trace_id: int
    span_id: int
    parent_id: int
    name: str
    began_ns: int
    ended_ns: int
    attributes: Attributes = field(default_factory=dict, hash=False)
    failed: bool = False
    because: str = ""


def make_spans(trace: RunTrace) -> list[TraceSpan]:
    """Return the spans of a run, the whole first; or the one of its review."""
    run, seed = trace.run, trace.seed
    root = _number(seed, "run", 8)
    if run.ended_at is None:
        return []
    if trace.reviewed_at is not None:
        return [_child(trace, root, "review", run.ended_at, trace.reviewed_at, key="review")]
    told_at = trace.told_at or run.queued_at
    whole = TraceSpan(
        _number(seed, "trace", 16),
        root,
        0,
        f"run {run.run_id}",
        nanoseconds(min(told_at, run.queued_at)),
        nanoseconds(run.ended_at),
        _describe_run(trace),
        run.ending in (Ending.FAILED, Ending.LOST),
        run.reason,
    )
    parts = [_of_span(trace, root, span, run.ended_at) for span in trace.spans[:MAX_SPANS]]
    checks = [span for span in trace.spans if span.kind is SpanKind.CHECK]
    commands = [_of_command(trace, root, checks, command) for command in trace.commands[:MAX_SPANS]]
    drag = [_child(trace, root, "delivery", told_at, run.queued_at, key="delivery")] if trace.told_at else []
    return [whole, *drag, *parts, *commands]


def _of_span(trace: RunTrace, root: int, span: RunSpan, ended_at: datetime) -> TraceSpan:
    run, at_work = trace.run, span.kind in AT_WORK
    attributes: dict[str, str | int | float | bool] = {"cardinal.span": str(span.kind)}
    if span.usd:
        attributes["cardinal.usd"] = span.usd
    attributes |= {
        name: text for name, text in (("cardinal.stage", span.stage), ("cardinal.why", span.why)) if text
    }
    if at_work:
        attributes |= genai.describe_work(run, span)
    return _child(
        trace,
        root,
        genai.span_name(run) if at_work else str(span.kind),
        span.began,
        span.ended or ended_at,
        key=f"span {span.seq}",
        attributes=attributes,
        failed=span.passed is False,
    )


def _of_command(trace: RunTrace, root: int, checks: list[RunSpan], command: CommandTime) -> TraceSpan:
    """Return the span of a command, below that of the checks in which it ran."""
    checked = command.checked
    around = next((span for span in reversed(checks) if span.seq < command.seq), None)
    return _child(
        trace,
        _number(trace.seed, f"span {around.seq}", 8) if around else root,
        f"check {checked.tier}",
        command.at - timedelta(seconds=max(0.0, checked.duration_s)),
        command.at,
        key=f"command {command.seq}",
        attributes={
            "cardinal.command": checked.command[:MAX_COMMAND],
            "process.exit.code": checked.exit_code,
        },
        failed=checked.exit_code != 0,
    )


def _child(
    trace: RunTrace,
    parent_id: int,
    name: str,
    began: datetime,
    ended: datetime,
    *,
    key: str,
    attributes: Attributes | None = None,
    failed: bool = False,
) -> TraceSpan:
    return TraceSpan(
        _number(trace.seed, "trace", 16),
        _number(trace.seed, key, 8),
        parent_id,
        name,
        nanoseconds(began),
        nanoseconds(max(began, ended)),
        attributes or {},
        failed,
    )


def _describe_run(trace: RunTrace) -> Attributes:
    run, card = trace.run, trace.card
    place = f"{card.repository}#{card.number}" if card and card.repository and card.number else ""
    named = {
        "cardinal.run": run.run_id,
        "cardinal.card": place,
        "cardinal.column": run.column,
        "cardinal.kind": run.kind,
        "cardinal.ending": run.ending or "",
        "cardinal.reason": run.reason,
        "cardinal.host": run.host,
    }
    numbers = {"cardinal.attempt": run.attempt, "cardinal.usd": run.usd, "cardinal.turns": run.turns}
    return {**{name: text for name, text in named.items() if text}, **numbers}


def nanoseconds(at: datetime) -> int:
    """Return the nanoseconds since 1970, exact to the microsecond."""
    return (at - EPOCH) // timedelta(microseconds=1) * 1000


def _number(seed: str, key: str, size: int) -> int:
    """Return an id of so many bytes; never 0, which would mean none."""
    return int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:size]) or 1
