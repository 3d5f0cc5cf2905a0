"""Every run as it is now."""

import json
from dataclasses import dataclass
from datetime import datetime

from ledger.events.run import OWN, RESTORED
from ledger.events.turn import OWN_LOGIN
from ledger.ids import NO_QUESTION, NO_RUN, BoardId, CardId, QuestionId, RunId
from ledger.model.run_modes import FIX
from ledger.states import Ending, Priority, RunKind, RunState, RunStatus, StopKind


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run. `plan_revision` is 0 before the first plan; `question_id` is the open question's or empty.

    `files_changed` are of the newest checkpoint until the change is measured, with its lines. `commits` are
    those that were brought out to be published; `kept` as `commits` in RunEnded. `pushing`: it was about to
    push, and nothing says since whether it did. `cause` as in RunEnded, `again_of`, `base_commit` and
    `forked_at` as in RunQueued. `rank` orders the queue: the card's place in its column, behind all that have
    a higher `priority`.
    """

    run_id: RunId
    card_id: CardId
    board_id: BoardId
    rank: int
    attempt: int
    kind: RunKind
    column: str
    repository: str
    branch: str
    agent: str
    by: str
    settings: str
    plan_required: bool
    mode: str
    mode_rule: str
    mode_value: str
    asked: str
    reproduces: bool
    door: str
    rebases: bool
    waits_for_parts: bool
    other_agent: str
    state: RunState
    ending: Ending | None
    session_id: str
    queued_at: datetime
    claimed_at: datetime | None
    ended_at: datetime | None
    kept: int | None
    reason: str = ""
    detail: str = ""
    last_known: str = ""
    generation: int = 0
    worker: str = ""
    host: str = ""
    reclaims: int = 0
    hung_s: float = 0.0
    plan_revision: int = 0
    plan_steps: tuple[str, ...] = ()
    plan_done: int = 0
    plan_approved: bool = False
    plan_approved_by: str = ""
    agent_started: bool = False
    agent_version: str = ""
    payer: str = ""
    last_line: str = ""
    stop_asked: StopKind = StopKind.NONE
    stop_by: str = ""
    stop_why: str = ""
    parked_why: str = ""
    question_id: QuestionId = NO_QUESTION
    questions: int = 0
    notes: int = 0
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    active_s: float = 0.0
    base: str = ""
    head: str = ""
    files_changed: int = 0
    lines_changed: int = 0
    commits: int = 0
    pushing: bool = False
    pushed_head: str = ""
    iteration: int = 0
    full_runs: int = 0
    cause: str = ""
    workflow: str = ""
    workflow_rule: str = ""
    workflow_value: str = ""
    priority: Priority = Priority.NORMAL
    played_by: str = ""
    again_of: RunId = NO_RUN
    base_commit: str = ""
    folder: str = ""
    forked_at: str = ""

    @property
    def is_cancelling(self) -> bool:
        return self.stop_asked is StopKind.CANCEL

    @property
    def alive(self) -> bool:
        return self.state is not RunState.ENDED

    @property
    def status(self) -> RunStatus:
        """What it does or how it ended, as people read it."""
        match self.state:
            case RunState.ENDED:
                return RunStatus(self.ending or Ending.LOST)
            case RunState.QUEUED:
                return RunStatus.QUEUED
            case RunState.AWAITING_APPROVAL:
                return RunStatus.NEEDS_INPUT
            case RunState.PARKED:
                return RunStatus.NEEDS_INPUT if self.question_id else RunStatus.PAUSED
            case _:
                return RunStatus.WORKING

    @property
    def effort(self) -> str:
        """How much its model is told to think; empty where the policy and people left that to it."""
        return json.loads(self.settings or "{}").get("effort") or ""

    @property
    def played(self) -> str:
        """Its agent, with the effort of its model."""
        return f"{self.agent}, effort {self.effort}" if self.effort else self.agent

    @property
    def own_branch(self) -> str:
        """Its branch; empty where it changes no repository, and of somebody's own worker until it is seen."""
        has_one = self.mode == FIX and (self.agent != OWN or self.pushed_head)
        return self.branch if has_one else ""

    @property
    def is_reported(self) -> bool:
        """Its cost is the agent's own word: nothing else counted it."""
        return self.payer == OWN_LOGIN

    @property
    def begun(self) -> bool:
        """A worker has held it, so that something may have been done and spent."""
        return self.claimed_at is not None

    @property
    def has_finished_work(self) -> bool:
        """It ended well, and was there to change something."""
        return self.ending is Ending.SUCCEEDED and self.mode == FIX

    @property
    def is_adopted(self) -> bool:
        """It ended in a time that a restored ledger had lost: its traces on GitHub show it."""
        return self.reason == RESTORED


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that is to be done again. `base` is the default branch's commit on which it began, empty where
    that was not kept; `briefed`: its agent's briefing is kept. `points` are those at which another run can
    begin, the newest first.
    """

    run: RunRow
    base: str
    briefed: bool
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run to be compared with another: what its report says was `done`, and the gate's newest result:
    passed, failed, or empty before the first.
    """

    run: RunRow
    done: str
    gate: str
