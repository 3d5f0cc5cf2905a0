"""Inward intents: they become events in the same transaction (`bot/reactor/apply.py`)."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import RunId
from ledger.model.limit_answers import AnswerChoice, Subject
from ledger.states import CardState, Ending, Reason
from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class ChangeCardState(Intent):
    """Move the card's state; `because` is read by people, `reason` by rules."""

    after: CardState
    because: str
    reason: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class QueueRun(Intent):
    """Queue a new run. `kind`: first, revision, retry, or repair of checks that are red.

    `mode` and its rule, `asked`, `reproduces`, `door`, `rebases`, `waits_for_parts` and `other_agent` are as
    in RunQueued.
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
    rebases: bool = False
    waits_for_parts: bool = False
    other_agent: str = ""


@dataclass(frozen=True, slots=True)
class AskQuestion(Intent):
    """Ask people something on behalf of the rules; `part` is as in QuestionAsked."""

    run_id: RunId
    subject: Subject
    text: str
    choices: tuple[AnswerChoice, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class RaiseBudget(Intent):
    """Add dollars to a run's own budget; `at` is the moment, by whose day the limits of a day are counted."""

    run_id: RunId
    usd: float
    by: str
    at: datetime


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
