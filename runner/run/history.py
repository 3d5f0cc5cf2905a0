"""One run as its own events tell it: what is settled, what is open, what was spent. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ledger.event import Event, Recorded
from ledger.events import agent as seen
from ledger.events import artifact, bounds, budget, findings, instruction, related
from ledger.events import run as happened
from ledger.events import turn as turns
from ledger.events.reproduction import ReproductionPlayed, ReproductionSkipped
from ledger.ids import QuestionId
from ledger.model.limit_answers import QuestionSource, Subject, asker_of, code_of
from ledger.states import RunState
from runner.run.check_history import FailedRounds
from runner.run.guard_history import Refusals
from runner.run.instruction_history import Instructed
from runner.run.question import Question
from runner.run.stage_history import StageLog

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class Plan:
    """The newest plan. `state`: proposed, approved or redirected; `text` is the redirecting person's."""

    revision: int
    summary: str
    steps: tuple[str, ...]
    state: str = "proposed"
    text: str = ""
    done: int = 0


@dataclass(slots=True)
class TurnRecord:
    """The newest turn; `outcome` is empty while it runs, or when its supervisor died."""

    phase: str
    turn: str
    seq: int
    outcome: str = ""


@dataclass(slots=True)
class History:
    """The fold of a run's stream. `seq` is the newest event that it knows."""

    seq: int = 0
    version: int = 0
    state: RunState = RunState.QUEUED
    session_id: str = ""
    instructed: Instructed = field(default_factory=Instructed)
    plan: Plan | None = None
    questions: list[Question] = field(default_factory=list)
    asked: int = 0  # with those that the board asked
    turn: TurnRecord | None = None
    turns: dict[str, str] = field(default_factory=dict)  # turn -> newest outcome
    began_at: datetime = _NEVER
    turn_ended_at: datetime | None = None
    calls: set[tuple[str, str]] = field(default_factory=set)
    finish: dict[str, Any] | None = None
    finish_seq: int = 0
    reads: str = ""  # the commit that an investigation reads
    threads: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    proposed: int = 0  # cards
    linked: int = 0
    steering: dict[int, str] = field(default_factory=dict)  # not yet heard
    rounds: FailedRounds = field(default_factory=FailedRounds)
    validation: happened.ValidationEnded | None = None
    checking: str = ""  # the commit whose checks began in the workspace, and were not tidied up after yet
    waived: str = ""  # the commit that goes without checks
    iterations: int = 0
    guards: Refusals = field(default_factory=Refusals)
    full_runs: int = 0
    exported: happened.BranchExported | None = None
    pushed: str = ""
    reported: bool = False
    artifacts: dict[tuple[str, str], int] = field(default_factory=dict)  # name and digest -> bytes
    attached: int = 0  # of them by the agent itself
    stop: happened.RunStopAsked | None = None
    lost: set[str] = field(default_factory=set)  # sessions
    awaited: dict[QuestionId, str] = field(default_factory=dict)  # question -> command
    granted: list[str] = field(default_factory=list)
    last_line: str = ""
    usd: float = 0.0
    added_usd: float = 0.0  # to the run's own budget, by people
    reserved: budget.BudgetReserved | None = None  # by the claim that holds the run
    ceiling_usd: float = 0.0  # what the run may have cost in all when that reservation is used up
    turns_used: int = 0
    active_s: float = 0.0
    stages: StageLog = field(default_factory=StageLog)
    played: list[ReproductionPlayed | ReproductionSkipped] = field(default_factory=list)  # in a browser

    def take(self, recorded: Iterable[Recorded]) -> None:
        """Fold what is newer than what is known; an event that says nothing about the flow is passed over."""
        for one in recorded:
            if one.seq > self.seq:
                self.seq, self.version = one.seq, one.version
                self.began_at = min(self.began_at, one.at)
                if isinstance(one.event, turns.TurnEnded):
                    self.turn_ended_at = one.at
                step = _STEPS.get(type(one.event))
                if step is not None:
                    step(self, one.event, one.seq)
                self.stages.take(one.event, one.seq)
                self.iterations += self.guards.take(one.event)

    def session(self, given: str) -> str:
        """Return the session to go on in: the open stage's, the run's, or the `given` one before it."""
        if self.stages.visits:
            return self.stages.session_id
        return self.session_id or ("" if given in self.lost else given)

    @property
    def open_question(self) -> Question | None:
        """The question that waits for a person, if one does."""
        return next((asked for asked in self.questions if asked.answer is None), None)

    def newest(self, *subjects: Subject) -> Question | None:
        """Return the newest question about one of these."""
        return next((asked for asked in reversed(self.questions) if asked.subject in subjects), None)

    @property
    def own(self) -> Question | None:
        """The newest question of Cardinal's own."""
        return next((asked for asked in reversed(self.questions) if asked.is_own), None)

    def refused(self) -> tuple[str, ...]:
        """Return the commands that people were asked about and did not allow."""
        return tuple(
            self.awaited[asked.question_id]
            for asked in self.questions
            if asked.question_id in self.awaited and asked.answer is not None and not asked.allows_tool
        )

    def undelivered_answer(self) -> Question | None:
        """Return the agent's answered question that no later turn has carried to it."""
        asked = self.newest(Subject.WORK, Subject.TOOL)
        if asked is None or asked.answer is None:
            return None
        return asked if self.turn is None or self.turn.seq < asked.seq or not self._carried(asked) else None

    def unheeded_words(self) -> Question | None:
        """Return the newest question of Cardinal's own that was answered in words which no turn has carried
        to the agent.
        """
        asked = self.own
        return asked if asked is not None and asked.words and not self._carried(asked) else None

    def _carried(self, asked: Question) -> bool:
        """An answer is carried once a turn that began after the question ended on its own."""
        turn = self.turn
        return turn is not None and turn.seq > asked.seq and turn.outcome in ("done", "asked")

    @property
    def next_question_id(self) -> int:
        """The number of the next question, from 1."""
        return self.asked + 1


def _stepped(self: History, event: Any, _seq: int) -> None:
    self.state = event.after


def _claimed(self: History, _event: Any, _seq: int) -> None:
    self.state = RunState.CLAIMED
    self.reserved = None


def _requeued(self: History, event: Any, _seq: int) -> None:
    self.state = RunState.QUEUED
    # A worker that died or was sent home takes no pause with it; a person's word to go on does.
    if self.stop and self.stop.how == "pause" and event.why not in ("reclaimed", "handed_back"):
        self.stop = None


def _parked(self: History, _event: Any, _seq: int) -> None:
    self.state = RunState.PARKED


def _ended(self: History, _event: Any, _seq: int) -> None:
    self.state = RunState.ENDED


def _session(self: History, event: Any, _seq: int) -> None:
    self.session_id = self.instructed.session_id = event.session_id


def _proposed(self: History, event: Any, _seq: int) -> None:
    self.plan = Plan(event.revision, event.summary, event.steps)


def _approved(self: History, event: Any, _seq: int) -> None:
    if self.plan is not None and self.plan.revision == event.revision:
        self.plan.state = "approved"


def _redirected(self: History, event: Any, _seq: int) -> None:
    if self.plan is not None and self.plan.revision == event.revision:
        self.plan.state, self.plan.text = "redirected", event.text


def _ticked(self: History, event: Any, _seq: int) -> None:
    if self.plan is not None:
        self.plan.done = event.done


def _asked(self: History, event: Any, seq: int) -> None:
    self.asked += 1
    if asker_of(event.asker) is not QuestionSource.RULES:  # the board asks about the card; the run goes on
        self.questions.append(Question(event, seq))


def _answered(self: History, event: Any, _seq: int) -> None:
    for asked in self.questions:
        if asked.question_id == event.question_id and asked.answer is None:
            asked.answer, asked.answered_by = event.text, event.by
            asked.code = code_of(asked.event, event.code, event.text)
            if asked.subject is Subject.REPAIRS:
                self.rounds.let_go()


def _turn_started(self: History, event: Any, seq: int) -> None:
    self.turn = TurnRecord(event.phase, event.turn, seq)
    self.instructed.session_id = event.session_id
    self.checking = ""
    self.turns[event.turn] = ""


def _turn_ended(self: History, event: Any, _seq: int) -> None:
    self.turns[event.turn] = event.outcome
    if event.outcome in ("done", "asked"):
        self.instructed.carry()
    if self.turn is not None and self.turn.turn == event.turn:
        self.turn.outcome = event.outcome


def _called(self: History, event: Any, seq: int) -> None:
    self.calls.add((event.session_id, event.call_id))
    self.attached += event.tool == "attach"  # also what was not kept
    if event.tool in ("finish", "findings"):
        self.finish, self.finish_seq = json.loads(event.body), seq
    elif event.tool == "thread":
        answer = json.loads(event.body)
        self.threads[answer["thread_id"]] = answer["text"]


def _investigates(self: History, event: Any, _seq: int) -> None:
    self.reads = event.base


def _noted(self: History, event: Any, _seq: int) -> None:
    self.notes.append(event.text)


def _card_proposed(self: History, event: Any, _seq: int) -> None:
    self.proposed = max(self.proposed, event.proposal)


def _card_linked(self: History, _event: Any, _seq: int) -> None:
    self.linked += 1


def _steered(self: History, event: Any, _seq: int) -> None:
    self.steering[event.comment_id] = event.text


def _heard(self: History, event: Any, _seq: int) -> None:
    for comment_id in event.comment_ids:
        self.steering.pop(comment_id, None)


def _validated(self: History, event: Any, _seq: int) -> None:
    self.validation = event
    self.iterations = max(self.iterations, event.iteration)
    self.full_runs += event.tier == "full"
    self.checking = ""


def _round_began(self: History, event: Any, _seq: int) -> None:
    self.checking = event.head


def _round_failed(self: History, event: Any, _seq: int) -> None:
    self.rounds.take(event)


def _waived(self: History, event: Any, _seq: int) -> None:
    self.waived = event.head


def _exported(self: History, event: Any, _seq: int) -> None:
    self.exported = event


def _pushed(self: History, event: Any, _seq: int) -> None:
    self.pushed = event.head


def _kept(self: History, event: Any, _seq: int) -> None:
    self.artifacts[event.name, event.digest] = event.size_bytes


def _reported(self: History, _event: Any, _seq: int) -> None:
    self.reported = True


def _stop_asked(self: History, event: Any, _seq: int) -> None:
    if self.stop is None or event.how == "cancel":
        self.stop = event


def _session_lost(self: History, event: Any, _seq: int) -> None:
    self.lost.add(event.session_id)
    if self.session_id == event.session_id:
        self.session_id = ""


def _awaited(self: History, event: Any, _seq: int) -> None:
    self.awaited[event.question_id] = event.command


def _allowed(self: History, event: Any, _seq: int) -> None:
    self.granted.append(event.pattern)


def _said(self: History, event: Any, _seq: int) -> None:
    self.last_line = event.text


def _raised(self: History, event: Any, _seq: int) -> None:
    self.added_usd += event.usd


def _reserved(self: History, event: Any, _seq: int) -> None:
    self.reserved, self.ceiling_usd = event, self.usd + event.usd


def _metered(self: History, event: Any, _seq: int) -> None:
    self.usd += event.usd
    self.turns_used += event.turns
    self.active_s += event.seconds


_STEPS: dict[type[Event], Any] = {
    happened.RunStepped: _stepped,
    happened.RunClaimed: _claimed,
    happened.RunRequeued: _requeued,
    happened.RunParked: _parked,
    happened.RunEnded: _ended,
    happened.BriefingMade: lambda self, event, _seq: self.instructed.brief(event.digest),
    instruction.InstructionsStacked: lambda self, event, _seq: self.instructed.stack(event),
    instruction.SkillsChosen: lambda self, event, _seq: self.instructed.consider(event),
    happened.SessionStarted: _session,
    happened.PlanProposed: _proposed,
    happened.PlanApproved: _approved,
    happened.PlanRedirected: _redirected,
    happened.PlanTicked: _ticked,
    findings.InvestigationBegun: _investigates,
    happened.Noted: _noted,
    related.CardProposed: _card_proposed,
    related.CardLinked: _card_linked,
    happened.QuestionAsked: _asked,
    happened.QuestionAnswered: _answered,
    turns.TurnStarted: _turn_started,
    turns.TurnEnded: _turn_ended,
    turns.BoardToolCalled: _called,
    happened.RunSteered: _steered,
    turns.SteeringHeard: _heard,
    happened.ValidationEnded: _validated,
    bounds.RoundBegan: _round_began,
    bounds.RoundFailed: _round_failed,
    bounds.ValidationWaived: _waived,
    happened.BranchExported: _exported,
    happened.BranchPushed: _pushed,
    happened.FinalReported: _reported,
    artifact.ArtifactKept: _kept,
    happened.RunStopAsked: _stop_asked,
    seen.SessionLost: _session_lost,
    seen.PermissionAwaited: _awaited,
    seen.ToolAllowed: _allowed,
    happened.Progressed: _said,
    happened.AgentSaid: _said,
    happened.UsageMetered: _metered,
    ReproductionPlayed: lambda self, event, _seq: self.played.append(event),
    ReproductionSkipped: lambda self, event, _seq: self.played.append(event),
    budget.BudgetRaised: _raised,
    budget.BudgetReserved: _reserved,
}
