"""Which stage of a run begins next, and when people are asked first: the table of a column's stages. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.model.limit_answers import STOP, AnswerChoice, Code, Subject
from runner.run.history import History
from runner.run.question import Question
from runner.run.run_spec import StageSpec

SAME_WAY = 3  # so often the work may go the same way from one stage to another, then people are asked
MAX_ENTRIES = 20
ONCE_MORE = AnswerChoice(Code.GO_ON, f"Go on, up to {SAME_WAY} more times")
AS_MANY = AnswerChoice(Code.GO_ON, f"Go on with {MAX_ENTRIES} more")


@dataclass(frozen=True, slots=True)
class Enter:
    """The stage that begins; the other fields are as in StageEntered."""

    stage: StageSpec
    source: str
    by: str
    sent_back: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """People must say first whether the run may go from `source` to `target`; `why` as in StageAwaited."""

    why: str
    source: str
    target: str
    text: str
    choices: tuple[AnswerChoice, ...]

    @property
    def subject(self) -> Subject:
        """What the question is about."""
        if self.why != "approval":
            return Subject.ROUNDS
        return Subject.STAGE if self.source else Subject.START


def admit(stages: Sequence[StageSpec], history: History) -> Enter | Ask:
    """Return what comes now that no stage is open and none has ended the work.

    Answers that stop the run have ended it before this is asked.
    """
    log = history.stages
    last = log.visits[-1] if log.visits else None
    source = last.stage if last is not None else ""
    target = (last.target if last is not None else "") or stages[0].name
    made = sum(one.source == source and one.stage == target and not one.sent_back for one in log.visits)
    if source and made >= SAME_WAY * (1 + _granted(history, "again", source, target)):
        said = f"This would be the time number {made + 1} that stage {source} hands the work to {target}:"
        return Ask("again", source, target, f"{said} it may be going round in a circle.", (ONCE_MORE, STOP))
    if len(log.visits) >= MAX_ENTRIES * (1 + _granted(history, "entries")):
        said = f"The run has been in {len(log.visits)} stages, and wants to begin {target}."
        return Ask("entries", source, target, said, (AS_MANY, STOP))
    stage = named(stages, target)
    if not stage.approval:
        return Enter(stage, source, "agent" if source else "policy")
    return _approved(stages, history, stage, source)


def named(stages: Sequence[StageSpec], name: str) -> StageSpec:
    """Return the stage of that name; ValueError for none, which the policy's checks and the board tool
    prevent.
    """
    found = next((stage for stage in stages if stage.name == name), None)
    if found is None:
        raise ValueError(f"there is no stage {name!r}")
    return found


def may_edit(stage: StageSpec) -> bool:
    """Whether its agent can change files."""
    return stage.tools.edit != "deny"


def choices_of(stage: StageSpec, source: str) -> tuple[AnswerChoice, ...]:
    """Return what a person may answer who is asked whether a stage may begin."""
    back = (AnswerChoice(Code.BACK, f"Back to {source}"),) if source else ()
    return (AnswerChoice(Code.GO_ON, f"Begin {stage.name}"), *back, STOP)


def _approved(stages: Sequence[StageSpec], history: History, stage: StageSpec, source: str) -> Enter | Ask:
    asked = _asked(history, stage.name, source)
    if asked is None or asked.answer is None:
        return Ask("approval", source, stage.name, _approval(stage, source), choices_of(stage, source))
    if asked.code is Code.GO_ON:
        return Enter(stage, source, asked.answered_by)
    if not source:  # there is nowhere to go back to, so it is asked until somebody chooses
        return Ask("approval", source, stage.name, _approval(stage, source), choices_of(stage, source))
    return Enter(named(stages, source), source, asked.answered_by, sent_back=True)


def _approval(stage: StageSpec, source: str) -> str:
    words = f" Whatever else you write goes back to {source} with the work." if source else ""
    return f"Stage {stage.name} (persona {stage.persona}) begins only when a person agrees. May it?{words}"


def _asked(history: History, target: str, source: str) -> Question | None:
    """Return the question about the entry that is due now, if it was asked."""
    due = len(history.stages.visits) + 1
    for gate in reversed(history.stages.gates):
        if (gate.why, gate.entry, gate.target, gate.source) == ("approval", due, target, source):
            return next((one for one in history.questions if one.question_id == gate.question_id), None)
    return None


def _granted(history: History, why: str, source: str = "", target: str = "") -> int:
    """Return how often people let the run go on at this limit."""
    agreed = {one.question_id for one in history.questions if one.code is Code.GO_ON}
    return sum(
        gate.why == why
        and gate.question_id in agreed
        and (not source or (gate.source, gate.target) == (source, target))
        for gate in history.stages.gates
    )
