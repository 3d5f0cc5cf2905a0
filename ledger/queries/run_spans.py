"""The story of a run in spans of time: what it did or waited for, how long, on whom, and what that cost."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, literal, select

from ledger.codec import decode, kinds
from ledger.db.statements import statement
from ledger.db.tables import events
from ledger.event import Event
from ledger.events.run import (
    PlanApproved,
    PlanRedirected,
    QuestionAnswered,
    RunParked,
    RunRequeued,
    RunStepped,
    UsageMetered,
    ValidationEnded,
)
from ledger.events.stage import StageEntered
from ledger.states import RunState

KINDS = tuple(name for name, kind in kinds().items() if kind.leads_to) + tuple(
    kind.__name__
    for kind in (
        RunStepped,
        PlanApproved,
        PlanRedirected,
        QuestionAnswered,
        StageEntered,
        UsageMetered,
        ValidationEnded,
    )
)


class SpanKind(StrEnum):
    """What a run does in a span."""

    QUEUE = "queue"
    SETUP = "setup"
    PLAN = "plan"
    WAIT = "wait"  # for a person
    WORK = "work"
    CHECK = "check"
    PUBLISH = "publish"


_KIND_OF = {
    RunState.QUEUED: SpanKind.QUEUE,
    RunState.CLAIMED: SpanKind.SETUP,
    RunState.PREPARING: SpanKind.SETUP,
    RunState.PLANNING: SpanKind.PLAN,
    RunState.AWAITING_APPROVAL: SpanKind.WAIT,
    RunState.WORKING: SpanKind.WORK,
    RunState.PARKED: SpanKind.WAIT,
    RunState.VALIDATING: SpanKind.CHECK,
    RunState.PUBLISHING: SpanKind.PUBLISH,
}


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A stretch of a run since the event `seq`; `ended` is None while it lasts.

    `stage` is the column's stage in which it worked, empty for none. `person` ended a wait, empty while it
    lasts; `why` is that of RunParked. `passed` is the result of checks, None before it is known.
    """

    seq: int
    kind: SpanKind
    began: datetime
    ended: datetime | None = None
    stage: str = ""
    person: str = ""
    why: str = ""
    passed: bool | None = None
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0

    def seconds(self, now: datetime) -> float:
        """Return its length so far."""
        return max(0.0, ((self.ended or now) - self.began).total_seconds())


class RunStory:
    """The spans of one run, in their order, as far as they were read: `read_more` adds later ones."""

    def __init__(self) -> None:
        self._spans: list[RunSpan] = []
        self._usage: list[tuple[float, int, int]] = []  # of each span: it is metered often
        self._version, self._stage = 0, ""

    @property
    def spans(self) -> tuple[RunSpan, ...]:
        return tuple(
            replace(span, usd=usd, input_tokens=read, output_tokens=written)
            if read or written or usd
            else span
            for span, (usd, read, written) in zip(self._spans, self._usage, strict=True)
        )

    def read_more(self, db: Connection, stream: str) -> tuple[RunSpan, ...]:
        """Read what happened since the last time; return all spans."""
        newest = _newest.scalar(db, {"stream": stream}) or 0
        for seq, at, kind, body in _later.all(db, {"stream": stream, "after": self._version, "last": newest}):
            self.add(seq, at, decode(kind, body))
        self._version = newest  # most events are no part of the story, and need not be passed over again
        return self.spans

    def add(self, seq: int, at: datetime, event: Event) -> None:
        """Continue the story with the run's next event."""
        match event:
            case PlanApproved() | PlanRedirected() | QuestionAnswered():
                self._name_person(event.by)
            case RunRequeued(by=by) if by:
                self._name_person(by)
            case UsageMetered():
                self._add_usage(event)
            case ValidationEnded():
                self._change(SpanKind.CHECK, passed=event.passed)
            case StageEntered():
                self._enter_stage(seq, at, event.stage)
        state = event.after if isinstance(event, RunStepped) else event.leads_to
        if state is RunState.ENDED:
            self._end(at)
        elif state is not None:
            self._enter(seq, at, _KIND_OF[state])
            if isinstance(event, RunParked):
                self._change(SpanKind.WAIT, why=event.why)

    def _enter(self, seq: int, at: datetime, kind: SpanKind) -> None:
        stage = self._stage if kind is SpanKind.WORK else ""
        last = self._spans[-1] if self._spans else None
        if last is not None and last.ended is None and (last.kind, last.stage) == (kind, stage):
            return
        self._end(at)
        self._spans.append(RunSpan(seq, kind, at, stage=stage))
        self._usage.append((0.0, 0, 0))

    def _enter_stage(self, seq: int, at: datetime, stage: str) -> None:
        self._stage, last = stage, self._spans[-1] if self._spans else None
        if last is not None and last.kind is SpanKind.WORK:
            if last.stage:
                self._enter(seq, at, SpanKind.WORK)
            else:  # what came before the first stage was the way to it
                self._change(SpanKind.WORK, stage=stage)

    def _end(self, at: datetime) -> None:
        if self._spans and self._spans[-1].ended is None:
            self._spans[-1] = replace(self._spans[-1], ended=at)

    def _name_person(self, login: str) -> None:
        self._change(SpanKind.WAIT, person=login)

    def _change(self, kind: SpanKind, **fields: Any) -> None:
        if self._spans and self._spans[-1].kind is kind:
            self._spans[-1] = replace(self._spans[-1], **fields)

    def _add_usage(self, event: UsageMetered) -> None:
        """Add usage to the span that is open, or to the newest one in which an agent was there: it is metered
        when a stretch of work is over.
        """
        at_work = (SpanKind.PLAN, SpanKind.WORK, SpanKind.CHECK, SpanKind.PUBLISH)
        for position in range(len(self._spans) - 1, -1, -1):
            span = self._spans[position]
            if span.kind in at_work or position == 0:
                usd, read, written = self._usage[position]
                used = (usd + event.usd, read + event.input_tokens, written + event.output_tokens)
                self._usage[position] = used
                return


def list_shown_spans(spans: Iterable[RunSpan], now: datetime, shortest: timedelta) -> list[RunSpan]:
    """Return the spans that tell the story: no way through the queue that was shorter than `shortest`."""
    return [
        span
        for span in spans
        if span.kind not in (SpanKind.QUEUE, SpanKind.SETUP)
        or span.ended is None
        or span.seconds(now) >= shortest.total_seconds()
    ]


def chapter_of(spans: Iterable[RunSpan], seq: int) -> RunSpan | None:
    """Return the span in whose chapter the line of an event is: waits in the queue are none of their own."""
    chapter = None
    for span in spans:
        if span.seq > seq:
            break
        if chapter is None or span.kind not in (SpanKind.QUEUE, SpanKind.SETUP):
            chapter = span
    return chapter


@statement
def _newest(stream: Any) -> Select[Any]:
    mine = select(events.c.version).where(events.c.stream == stream)
    return mine.order_by(events.c.version.desc()).limit(1)


@statement
def _later(stream: Any, after: Any, last: Any) -> Select[Any]:
    mine = select(events.c.seq, events.c.at, events.c.kind, events.c.body)
    mine = mine.where(events.c.stream == stream, events.c.version > after, events.c.version <= last)
    return mine.where(events.c.kind.in_([literal(name) for name in KINDS])).order_by(events.c.version)
