"""What an audit document says in short: its fields, and how a kind of event fills them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ledger.event import Event

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event with its number in the log and its time, as the document has them."""

    seq: int
    at: str
    event: Event


@dataclass(slots=True)
class Summary:
    """The fields of the document's summary, in the order in which people ask for them."""

    run: str
    asked: Row = field(default_factory=dict)
    card: Row = field(default_factory=dict)
    repository: Row = field(default_factory=dict)
    policy: Row = field(default_factory=dict)
    agent: Row = field(default_factory=dict)
    instructions: Row = field(default_factory=dict)
    skills: list[Row] = field(default_factory=list)
    briefings: list[Row] = field(default_factory=list)
    plans: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    commands: list[Row] = field(default_factory=list)
    leave: list[Row] = field(default_factory=list)
    stages: list[Row] = field(default_factory=list)
    refused: list[Row] = field(default_factory=list)
    hosts: list[Row] = field(default_factory=list)
    tools: dict[str, int] = field(default_factory=dict)
    iterations: int = 0
    rounds: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    validation: list[Row] = field(default_factory=list)
    waived: list[Row] = field(default_factory=list)
    reproductions: list[Row] = field(default_factory=list)
    guards: list[Row] = field(default_factory=list)
    violations: list[Row] = field(default_factory=list)
    findings: Row = field(default_factory=dict)
    related: list[Row] = field(default_factory=list)
    changes: Row = field(default_factory=dict)
    pushed: list[Row] = field(default_factory=list)
    reviews: list[Row] = field(default_factory=list)
    threads: list[Row] = field(default_factory=list)
    pull: Row = field(default_factory=dict)
    ci: list[Row] = field(default_factory=list)
    artifacts: list[Row] = field(default_factory=list)
    report: Row = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    faults: list[Row] = field(default_factory=list)
    outcome: Row = field(default_factory=dict)


Take = Callable[[Summary, AuditEvent, Any], None]
Taken = Mapping[type[Event], Take]


def fields(event: Any, *but: str) -> Row:
    """Return the fields of an event, or of a part of one, as plain values, without the run's id and those
    that are named.
    """
    named = asdict(event)
    return {name: value for name, value in named.items() if name not in ("run_id", *but)}


def row(told: AuditEvent, event: Event, *but: str) -> Row:
    """Return an event as a row: its number and time in the log, and its fields."""
    return {"seq": told.seq, "at": told.at, **fields(event, *but)}
