"""A run's history: its own event stream, folded once; the runner derives the rest from it. Pure."""

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import singledispatchmethod
from typing import Any

from ledger.event import Event, Recorded
from ledger.events import agent as seen
from ledger.events import artifact, bounds, budget, findings, guard, instruction, related
from ledger.events import run as happened
from ledger.events.branch import CommitsSigned
from ledger.events.reproduction import ReproductionPlayed, ReproductionSkipped
from ledger.events.stage import StageLeft
from ledger.events.turn import BoardToolCalled, SteeringHeard, TurnEnded, TurnStarted
from ledger.events.witness import CheckWitnessed
from ledger.events.workspace import Checkpointed, WorkspaceRestored, WorkspaceTaken
from ledger.ids import QuestionId, RunId
from ledger.rows.limit_answers import OF_TURN, Code, QuestionSource, Subject, asker_of, code_of
from ledger.states import RunState
from ledger.views.runs import state_after
from runner.run.facts import (
    EarlyWork,
    FailedRounds,
    MadeCards,
    Plan,
    Question,
    Refusals,
    StageEvent,
    StageLog,
    StageVisit,
    TurnRecord,
)
from runner.run.instructions import KnownInstructions

PLANNING = ("plan", "redirect")  # phases that change no file
# What a workspace's files and session decide: kept with them, and brought back with them.
_WORK = (
    "turns", "turn", "finish", "validation", "witnessed",
    "exported", "checking", "waived", "guards", "rounds", "threads",
)  # fmt: skip
_REPORTS = ("finish", "findings", "thread", "go_to_stage")  # calls that say what was made
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class History:
    """The fold of a run's stream. `seq` is the newest event that it knows."""

    seq: int = 0
    version: int = 0
    state: RunState = RunState.QUEUED
    session_id: str = ""
    instructed: KnownInstructions = field(default_factory=KnownInstructions)
    plan: Plan | None = None
    questions: list[Question] = field(default_factory=list)
    question_count: int = 0  # with those that the board asked
    turn: TurnRecord | None = None
    turns: dict[str, TurnRecord] = field(default_factory=dict)  # by name
    began_at: datetime = _NEVER
    turn_ended_at: datetime | None = None
    calls: dict[tuple[str, str], str] = field(default_factory=dict)  # session and id -> tool
    finish: dict[str, Any] | None = None
    finish_seq: int = 0
    reads: str = ""  # the commit that an investigation reads
    threads: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    cards: MadeCards = field(default_factory=MadeCards)
    server_calls: int = 0  # of tool servers, those that were refused too
    steering: dict[int, str] = field(default_factory=dict)  # messages that no turn has delivered yet
    delivered: dict[int, str] = field(default_factory=dict)  # those that one has
    rounds: FailedRounds = field(default_factory=FailedRounds)
    validation: happened.ValidationEnded | None = None
    witnessed: dict[str, CheckWitnessed] = field(default_factory=dict)  # by command, the newest
    checking: str = ""  # the commit whose checks began in the workspace, and were not tidied up after yet
    waived: str = ""  # the commit that goes without checks
    iterations: int = 0
    guards: Refusals = field(default_factory=Refusals)
    early: EarlyWork = field(default_factory=EarlyWork)
    full_runs: int = 0
    exported: happened.BranchExported | None = None
    reported: bool = False
    artifacts: dict[tuple[str, str], int] = field(default_factory=dict)  # name and digest -> bytes
    attached: int = 0  # of them by the agent itself
    stop: happened.RunStopAsked | None = None
    lost: set[str] = field(default_factory=set)  # sessions
    awaited: dict[QuestionId, str] = field(default_factory=dict)  # question -> command
    granted: list[str] = field(default_factory=list)
    last_line: str = ""
    metered: dict[str, happened.UsageMetered] = field(default_factory=dict)  # by session
    usd: float = 0.0
    added_usd: float = 0.0  # to the run's own budget, by people
    reserved: budget.BudgetReserved | None = None  # by the claim that holds the run
    ceiling_usd: float = 0.0  # the cost of the whole run at which that reservation is used up
    turns_used: int = 0
    tokens_used: int = 0
    active_s: float = 0.0
    stages: StageLog = field(default_factory=StageLog)
    played: list[ReproductionPlayed | ReproductionSkipped] = field(default_factory=list)  # in a browser
    kept: dict[str, Any] = field(default_factory=dict)  # the work's part, at the newest checkpoint
    kept_steps: int = 0  # of the plan, done then
    kept_visit: StageVisit | None = None  # the open stage, as it was then
    # `finish` and `threads` when a stage was left: the mirror has the work that they are about.
    handed: tuple[dict[str, Any] | None, dict[str, dict[str, Any]]] = (None, {})

    def take(self, recorded: Iterable[Recorded]) -> None:
        """Fold all events that are newer than `seq`."""
        for entry in recorded:
            if entry.seq > self.seq:
                self.seq, self.version = entry.seq, entry.version
                self.began_at = min(self.began_at, entry.at)
                if isinstance(entry.event, TurnEnded):
                    self.turn_ended_at = entry.at
                self.state = state_after(entry.event) or self.state
                self._fold(entry.event)

    def session(self, given: str) -> str:
        """Return the session to continue: the open stage's, the run's, or the `given` one from before."""
        if self.stages.visits:
            return self.stages.session_id
        return self.session_id or ("" if given in self.lost else given)

    @property
    def open_question(self) -> Question | None:
        return next((question for question in self.questions if question.answer is None), None)

    def newest(self, *subjects: Subject) -> Question | None:
        return next((question for question in reversed(self.questions) if question.subject in subjects), None)

    @property
    def own(self) -> Question | None:
        return next((question for question in reversed(self.questions) if question.is_own), None)

    def list_refused(self) -> tuple[str, ...]:
        """Return the commands that people were asked about and did not allow."""
        return tuple(
            self.awaited[question.question_id]
            for question in self.questions
            if question.question_id in self.awaited
            and question.answer is not None
            and not question.permits(Subject.TOOL, Code.ALLOW_ONCE, Code.ALLOW_CARD)
        )

    def find_undelivered_answer(self) -> Question | None:
        """Return the agent's answered question whose answer no later turn has delivered."""
        question = self.newest(*OF_TURN)
        if question is None or question.answer is None or self._was_delivered(question):
            return None
        return question

    def undelivered_words(self) -> Question | None:
        """Return Cardinal's own newest question, if its answer is words that no turn has delivered."""
        question = self.own
        return (
            question
            if question is not None and question.words and not self._was_delivered(question)
            else None
        )

    def _was_delivered(self, question: Question) -> bool:
        """Whether a turn that began after the question ended by itself, and so delivered the answer."""
        turn = self.turn
        return turn is not None and turn.seq > question.seq and turn.outcome in ("done", "asked")

    def next_question_id(self, run_id: RunId) -> QuestionId:
        """Return the id of the run's next question; they count from 1."""
        return QuestionId(f"{run_id}-q{self.question_count + 1}")

    @singledispatchmethod
    def _fold(self, event: Event) -> None:
        """Fold one event; most kinds change nothing here."""

    @_fold.register
    def _(self, _event: happened.RunClaimed) -> None:
        self.reserved = None

    @_fold.register
    def _(self, event: WorkspaceTaken) -> None:
        if not event.left_on:
            return  # else what was made is elsewhere: no turn of the work counts, nor its result
        self.turns = {name: turn for name, turn in self.turns.items() if turn.phase in PLANNING}
        self.turn = self.turn if self.turn and self.turn.turn in self.turns else None
        self.finish, self.threads = copy.deepcopy(self.handed)
        self.validation = self.exported = None
        self.checking = self.waived = ""
        self.guards, self.rounds, self.witnessed = Refusals(), FailedRounds(), {}
        self.stages.take_back()
        # The agent may report again, by the same ids.
        self.calls = {call: tool for call, tool in self.calls.items() if tool not in _REPORTS}
        if self.plan is not None:
            self.plan.done = 0

    @_fold.register
    def _(self, _event: Checkpointed) -> None:
        self.kept = copy.deepcopy({name: getattr(self, name) for name in _WORK})
        self.kept_steps = self.plan.done if self.plan is not None else 0
        self.kept_visit = copy.deepcopy(self.stages.open)

    @_fold.register
    def _(self, event: WorkspaceRestored) -> None:
        if event.source != event.run_id or event.missing:
            return  # who is there knows less than the checkpoint's events say
        for name, value in copy.deepcopy(self.kept).items():
            setattr(self, name, value)
        if self.plan is not None:
            self.plan.done = self.kept_steps
        self.stages.take_back(self.kept_visit)

    @_fold.register
    def _(self, event: happened.RunRequeued) -> None:
        # A worker that died or was sent home takes no pause with it; a person's word to go on does.
        if self.stop and self.stop.how == "pause" and event.why not in ("reclaimed", "handed_back"):
            self.stop = None

    @_fold.register
    def _(self, event: happened.BriefingMade) -> None:
        self.instructed.brief(event.digest)

    @_fold.register
    def _(self, event: instruction.InstructionsStacked) -> None:
        self.instructed.stack(event)

    @_fold.register
    def _(self, event: instruction.SkillsChosen) -> None:
        self.instructed.considered = event.considered

    @_fold.register
    def _(self, event: happened.SessionStarted) -> None:
        self.session_id = self.instructed.session_id = event.session_id
        if self.stages.open is not None:
            self.stages.open.session_id = event.session_id

    @_fold.register
    def _(self, event: happened.PlanProposed) -> None:
        self.plan = Plan(event.revision, event.summary, event.steps)

    @_fold.register
    def _(self, event: happened.PlanApproved) -> None:
        if self.plan is not None and self.plan.revision == event.revision:
            self.plan.state = "approved"

    @_fold.register
    def _(self, event: happened.PlanRedirected) -> None:
        if self.plan is not None and self.plan.revision == event.revision:
            self.plan.state, self.plan.text = "redirected", event.text

    @_fold.register
    def _(self, event: happened.PlanTicked) -> None:
        if self.plan is not None:
            self.plan.done = event.done

    @_fold.register
    def _(self, event: happened.QuestionAsked) -> None:
        self.question_count += 1
        if asker_of(event.asker) is not QuestionSource.RULES:  # those are about the card; the run goes on
            used = {"time": self.active_s, "turns": self.turns_used, "tokens": self.tokens_used}
            self.questions.append(Question(event, self.seq, used.get(event.subject, 0)))

    @_fold.register
    def _(self, event: happened.QuestionAnswered) -> None:
        for question in self.questions:
            if question.question_id == event.question_id and question.answer is None:
                question.answer, question.answered_by = event.text, event.by
                question.code = code_of(question.event, event.code, event.text)
                if question.subject is Subject.REPAIRS:
                    self.rounds.let_go()

    @_fold.register
    def _(self, event: TurnStarted) -> None:
        begun = self.turns.get(event.turn)
        phase = begun.phase if begun is not None else event.phase
        self.turn = self.turns[event.turn] = TurnRecord(phase, event.turn, self.seq)
        self.instructed.session_id = event.session_id
        self.checking = ""
        self.guards.begin_turn(event.turn)

    @_fold.register
    def _(self, event: TurnEnded) -> None:
        if event.outcome in ("done", "asked"):
            self.instructed.carry()
        if self.turn is not None and self.turn.turn == event.turn:
            self.turn.outcome = event.outcome

    @_fold.register
    def _(self, event: BoardToolCalled) -> None:
        self.calls[(event.session_id, event.call_id)] = event.tool
        self.attached += event.tool == "attach"  # dropped ones too
        if event.tool not in _REPORTS:
            return
        given = json.loads(event.body)
        if event.tool in ("finish", "findings"):
            self.finish, self.finish_seq = given, self.seq
        elif event.tool == "thread":
            self.threads[given["thread_id"]] = given
        self.stages.choose(event.tool, given)

    @_fold.register
    def _(self, event: findings.InvestigationBegun) -> None:
        self.reads = event.base

    @_fold.register
    def _(self, event: happened.Noted) -> None:
        self.notes.append(event.text)
        if self.stages.open is not None:
            self.stages.open.notes.append(event.text)

    @_fold.register
    def _(self, event: related.CardProposed | related.CardLinked | related.PipelineLimited) -> None:
        self.cards.take(event)

    @_fold.register
    def _(self, _event: seen.ToolServerCalled) -> None:
        self.server_calls += 1

    @_fold.register
    def _(self, event: happened.RunSteered) -> None:
        self.steering[event.comment_id] = event.text

    @_fold.register
    def _(self, event: SteeringHeard) -> None:
        for comment_id in event.comment_ids:
            if comment_id in self.steering:
                self.delivered[comment_id] = self.steering.pop(comment_id)

    @_fold.register
    def _(self, event: happened.ValidationEnded) -> None:
        self.validation = event
        self.iterations = max(self.iterations, event.iteration)
        self.full_runs += event.tier == "full"
        self.checking = ""

    @_fold.register
    def _(self, event: CheckWitnessed) -> None:
        self.witnessed[event.command] = event

    @_fold.register
    def _(self, event: bounds.RoundBegan) -> None:
        self.checking = event.head

    @_fold.register
    def _(self, event: bounds.RoundFailed) -> None:
        self.rounds.take(event)

    @_fold.register
    def _(self, event: bounds.ValidationWaived) -> None:
        self.waived = event.head

    @_fold.register
    def _(self, event: guard.GuardsJudged | happened.BranchPushed | CommitsSigned) -> None:
        self.early.take(event)
        self.iterations += self.guards.take(event)  # a refused change costs one

    @_fold.register
    def _(self, event: happened.BranchExported) -> None:
        self.exported = event

    @_fold.register
    def _(self, _event: happened.FinalReported) -> None:
        self.reported = True

    @_fold.register
    def _(self, event: artifact.ArtifactKept) -> None:
        self.artifacts[event.name, event.digest] = event.size_bytes

    @_fold.register
    def _(self, event: happened.RunStopAsked) -> None:
        if self.stop is None or event.how == "cancel":
            self.stop = event

    @_fold.register
    def _(self, event: seen.SessionLost) -> None:
        self.lost.add(event.session_id)
        self.steering, self.delivered = self.delivered | self.steering, {}  # the next one knows none
        holders: tuple[History | StageVisit, ...] = (self, *self.stages.visits)
        for holder in holders:
            if holder.session_id == event.session_id:
                holder.session_id = ""

    @_fold.register
    def _(self, event: seen.PermissionAwaited) -> None:
        self.awaited[event.question_id] = event.command

    @_fold.register
    def _(self, event: seen.ToolAllowed) -> None:
        self.granted.append(event.pattern)

    @_fold.register
    def _(self, event: happened.Progressed | happened.AgentSaid) -> None:
        self.last_line = event.text

    @_fold.register
    def _(self, event: happened.UsageMetered) -> None:
        before = self.metered.get(self.instructed.session_id)
        self.metered[self.instructed.session_id] = event if before is None else before.plus(event)
        self.usd += event.usd
        self.turns_used += event.turns
        self.tokens_used += event.input_tokens + event.output_tokens
        self.active_s += event.seconds
        if self.stages.open is not None:
            self.stages.open.meter(event)

    @_fold.register
    def _(self, event: ReproductionPlayed | ReproductionSkipped) -> None:
        self.played.append(event)

    @_fold.register
    def _(self, event: budget.BudgetRaised) -> None:
        self.added_usd += event.usd

    @_fold.register
    def _(self, event: budget.BudgetReserved) -> None:
        self.reserved, self.ceiling_usd = event, self.usd + event.usd

    @_fold.register
    def _(self, event: StageEvent) -> None:
        self.stages.take(event, self.seq)
        if isinstance(event, StageLeft):
            self.handed = copy.deepcopy((self.finish, self.threads))
