"""The inward intents: they become events in the same transaction (`bot/reactor/apply.py`)."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, QuestionId, RunId
from ledger.model.limit_answers import AnswerChoice, Code, Subject
from ledger.model.reasons import Reason
from ledger.states import CardState, Ending
from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class ChangeCardState(Intent):
    """Move the card's state; `because` is read by people, `reason` by rules."""

    after: CardState
    because: str
    reason: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class Explain(Intent):
    """Say why the card waits, in one line."""

    because: str
    reason: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class HoldBack(Intent):
    """Remember the column that the card was dragged to; empty `wanted` forgets it."""

    wanted: str
    by: str


@dataclass(frozen=True, slots=True)
class QueueRun(Intent):
    """Queue a new run. `kind`: first, revision, retry, or repair of checks that are red.

    `mode`, what chose it, `asked`, `reproduces` and `door` are as in RunQueued.
    """

    kind: str
    by: str
    plan_required: bool
    mode: str = "fix"
    mode_rule: str = "column"
    mode_value: str = ""
    asked: str = ""
    reproduces: bool = False
    door: str = ""


@dataclass(frozen=True, slots=True)
class ApprovePlan(Intent):
    """Record the approval of the plan; `bound` is the digest of what was approved."""

    run_id: RunId
    by: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class RebindPlan(Intent):
    """Let the next approval of the plan be about this base commit and policy."""

    run_id: RunId
    base: str
    policy: str


@dataclass(frozen=True, slots=True)
class RedirectPlan(Intent):
    """Send the plan back with words."""

    run_id: RunId
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerQuestion(Intent):
    """Record the answer: `code` is what it means, `text` what people read."""

    run_id: RunId
    question_id: QuestionId
    by: str
    text: str
    code: Code = Code.WORDS


@dataclass(frozen=True, slots=True)
class AskQuestion(Intent):
    """Ask people something on behalf of the rules."""

    run_id: RunId
    subject: Subject
    text: str
    choices: tuple[AnswerChoice, ...]


@dataclass(frozen=True, slots=True)
class RaiseBudget(Intent):
    """Add dollars to a run's own budget; `at` is the moment, by whose day the limits of a day are counted."""

    run_id: RunId
    usd: float
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AllowTool(Intent):
    """Allow the card's agents what matches the pattern, unasked."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class PinSkills(Intent):
    """Give the card's next runs these skills, in place of those that were chosen so before."""

    names: tuple[str, ...]
    by: str


@dataclass(frozen=True, slots=True)
class RequeueRun(Intent):
    """Let a parked or waiting run go on. `why`: answered, approved, redirected or resumed, then `by` whom."""

    run_id: RunId
    why: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class StopRun(Intent):
    """Tell a run to stop: `how` is cancel or pause. A run that no worker holds stops at once."""

    run_id: RunId
    how: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class EndRun(Intent):
    """End a run that no worker holds."""

    run_id: RunId
    ending: Ending
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class SteerRun(Intent):
    """Hand a person's message to the running agent."""

    run_id: RunId
    by: str
    text: str
    comment_id: int


@dataclass(frozen=True, slots=True)
class ReleaseComment(Intent):
    """Let the words of somebody without write access count as if `by` had said them."""

    comment_id: int
    place: str
    by: str


@dataclass(frozen=True, slots=True)
class OrderStop(Intent):
    """Switch a kill switch on. `scope`: board, column or card."""

    board_id: BoardId
    scope: str
    target: str
    by: str


@dataclass(frozen=True, slots=True)
class LiftStop(Intent):
    """Switch a kill switch off."""

    board_id: BoardId
    scope: str
    target: str
    by: str
