"""The stages of one run as its own events tell them: entries, what each handed over and used. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger.event import Event
from ledger.events import agent as seen
from ledger.events import run as happened
from ledger.events import stage as staged
from ledger.events.turn import BoardToolCalled


@dataclass(slots=True)
class StageVisit:
    """One entry into a stage. `target` is None until its agent said where the work goes, then a stage's name,
    empty for the end.
    """

    entry: int
    stage: str
    number: int
    source: str
    sent_back: bool
    head: str  # where its own changes begin: of the entry, or of its newest reopening
    seq: int
    session_id: str = ""
    target: str | None = None
    summary: str = ""
    open_points: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    tidied: list[staged.StageTidied] = field(default_factory=list)
    snapshot: staged.SnapshotTaken | None = None
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    seconds: float = 0.0
    files_changed: int = 0
    lines_changed: int = 0
    lines_added: int = 0

    @property
    def turn(self) -> str:
        """The name of its first turn: phase, number and stage."""
        return f"stage-{self.number}-{self.stage}"


@dataclass(slots=True)
class StageLog:
    """The fold of a run's stages. `open` is the entry that goes on; `over`: one has ended the work."""

    visits: list[StageVisit] = field(default_factory=list)
    open: StageVisit | None = None
    over: bool = False
    gates: list[staged.StageAwaited] = field(default_factory=list)

    def take(self, event: Event, seq: int) -> None:
        """Fold one event of the run; most say nothing about stages."""
        step = _STEPS.get(type(event))
        if step is not None:
            step(self, event, seq)

    @property
    def session_id(self) -> str:
        """The session of the entry that goes on; empty before it has one."""
        return self.open.session_id if self.open is not None else ""

    @property
    def sessions(self) -> tuple[str, ...]:
        """All sessions that an entry could go on in."""
        return tuple(visit.session_id for visit in self.visits if visit.session_id)

    def visit(self, entry: int) -> StageVisit | None:
        """Return the run's entry of that number."""
        return next((one for one in self.visits if one.entry == entry), None)


def _entered(self: StageLog, event: Any, seq: int) -> None:
    visit = StageVisit(event.entry, event.stage, event.number, event.source, event.sent_back, event.head, seq)
    self.visits.append(visit)
    self.open = visit


def _reopened(self: StageLog, event: Any, seq: int) -> None:
    self.open = self.visit(event.entry)
    if self.open is not None:
        self.open.head, self.open.seq = event.head, seq
        self.open.tidied.clear()  # it will be left again


def _handed(self: StageLog, event: Any, _seq: int) -> None:
    visit = self.visit(event.entry)
    if visit is not None:
        visit.snapshot = event


def _left(self: StageLog, event: Any, _seq: int) -> None:
    visit, self.open = self.visit(event.entry), None
    self.over = self.over or not event.target
    if visit is not None:
        visit.files_changed = event.files_changed
        visit.lines_changed, visit.lines_added = event.lines_changed, event.lines_added


def _awaited(self: StageLog, event: Any, _seq: int) -> None:
    self.gates.append(event)


def _tidied(self: StageLog, event: Any, _seq: int) -> None:
    visit = self.visit(event.entry)
    if visit is not None:
        visit.tidied.append(event)


def _called(self: StageLog, event: Any, _seq: int) -> None:
    visit = self.open
    if visit is None or visit.target is not None:
        return
    said = json.loads(event.body)
    if event.tool == "go_to_stage":
        visit.target, visit.summary = said["stage"], said["summary"]
        visit.open_points = tuple(said.get("open_points", ()))
    elif event.tool == "finish":
        visit.target, visit.summary = "", said["done"]
        visit.open_points = tuple(said.get("open_questions", ()))


def _noted(self: StageLog, event: Any, _seq: int) -> None:
    if self.open is not None:
        self.open.notes.append(event.text)


def _session(self: StageLog, event: Any, _seq: int) -> None:
    if self.open is not None:
        self.open.session_id = event.session_id


def _lost(self: StageLog, event: Any, _seq: int) -> None:
    for visit in self.visits:
        if visit.session_id == event.session_id:
            visit.session_id = ""


def _metered(self: StageLog, event: Any, _seq: int) -> None:
    visit = self.open
    if visit is not None:
        visit.usd += event.usd
        visit.input_tokens += event.input_tokens
        visit.output_tokens += event.output_tokens
        visit.turns += event.turns
        visit.seconds += event.seconds


_STEPS: Mapping[type[Event], Callable[[StageLog, Any, int], None]] = {
    staged.StageEntered: _entered,
    staged.StageReopened: _reopened,
    staged.SnapshotTaken: _handed,
    staged.StageLeft: _left,
    staged.StageAwaited: _awaited,
    staged.StageTidied: _tidied,
    BoardToolCalled: _called,
    happened.Noted: _noted,
    happened.SessionStarted: _session,
    seen.SessionLost: _lost,
    happened.UsageMetered: _metered,
}
