"""State machine of a column's stages: the next stage, approvals, and an agent's legal exits. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.rows.limit_answers import STOP, AnswerChoice, Code, Subject
from runner.agents.board_tools import AskInput, BlockInput, FinishInput, GoToStageInput, Tool
from runner.run.facts import Question
from runner.run.history import History
from runner.run.run_spec import RunSpec, StageSpec

SAME_WAY = 3  # so often the work may go the same way from one stage to another, then people are asked
MAX_ENTRIES = 20
ONCE_MORE = AnswerChoice(Code.GO_ON, f"Continue, up to {SAME_WAY} more times")
AS_MANY = AnswerChoice(Code.GO_ON, f"Continue with {MAX_ENTRIES} more")


@dataclass(frozen=True, slots=True)
class Enter:
    """The stage to begin; the other fields are as in StageEntered."""

    stage: StageSpec
    source: str
    by: str
    sent_back: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """People must agree before the run goes from `source` to `target`; `why` as in StageAwaited."""

    why: str
    source: str
    target: str
    text: str
    choices: tuple[AnswerChoice, ...]

    @property
    def subject(self) -> Subject:
        if self.why != "approval":
            return Subject.STAGE_LOOPS
        return Subject.STAGE if self.source else Subject.START


def admit_entry(stages: Sequence[StageSpec], history: History) -> Enter | Ask:
    """Return the next step while no stage is open and none has ended the work.

    Answers that stop the run have ended it before.
    """
    log = history.stages
    last = log.visits[-1] if log.visits else None
    source = last.stage if last is not None else ""
    target = (last.target if last is not None else "") or stages[0].name
    made = sum(
        visit.source == source and visit.stage == target and not visit.sent_back for visit in log.visits
    )
    if source and made >= SAME_WAY * (1 + _count_extensions(history, "again", source, target)):
        said = f"Stage {source} has handed the work to {target} {made} times and wants to do it again:"
        return Ask("again", source, target, f"{said} it may be going round in a circle.", (ONCE_MORE, STOP))
    if len(log.visits) >= MAX_ENTRIES * (1 + _count_extensions(history, "entries")):
        said = f"The run has been in {len(log.visits)} stages, and wants to begin {target}."
        return Ask("entries", source, target, said, (AS_MANY, STOP))
    stage = stage_named(stages, target)
    if not stage.approval:
        return Enter(stage, source, "agent" if source else "policy")
    return _enter_if_approved(stages, history, stage, source)


def stage_named(stages: Sequence[StageSpec], name: str) -> StageSpec:
    """Return the stage of that name. Raises ValueError, which the policy's checks prevent."""
    stage = next((stage for stage in stages if stage.name == name), None)
    if stage is None:
        raise ValueError(f"there is no stage {name!r}")
    return stage


def may_edit(stage: StageSpec) -> bool:
    return stage.tools.edit != "deny"


def choices_of(stage: StageSpec, source: str) -> tuple[AnswerChoice, ...]:
    back = (AnswerChoice(Code.BACK, f"Back to {source}"),) if source else ()
    return (AnswerChoice(Code.GO_ON, f"Begin {stage.name}"), *back, STOP)


def _enter_if_approved(
    stages: Sequence[StageSpec], history: History, stage: StageSpec, source: str
) -> Enter | Ask:
    question = _question_about(history, stage.name, source)
    if question is None or question.answer is None:
        return Ask("approval", source, stage.name, _approval(stage, source), choices_of(stage, source))
    if question.code is Code.GO_ON:
        return Enter(stage, source, question.answered_by)
    if not source:  # there is nowhere to go back to, so it is asked until somebody chooses
        return Ask("approval", source, stage.name, _approval(stage, source), choices_of(stage, source))
    return Enter(stage_named(stages, source), source, question.answered_by, sent_back=True)


def _approval(stage: StageSpec, source: str) -> str:
    words = f" Whatever else you write goes back to {source} with the work." if source else ""
    return f"Stage {stage.name} (persona {stage.persona}) begins only when a person agrees. May it?{words}"


def _question_about(history: History, target: str, source: str) -> Question | None:
    """Return the question about the entry that is due, if it was asked."""
    due = len(history.stages.visits) + 1
    for gate in reversed(history.stages.gates):
        if (gate.why, gate.entry, gate.target, gate.source) == ("approval", due, target, source):
            return next(
                (question for question in history.questions if question.question_id == gate.question_id), None
            )
    return None


def _count_extensions(history: History, why: str, source: str = "", target: str = "") -> int:
    """Return how often people let the run continue at this limit."""
    agreed = {question.question_id for question in history.questions if question.code is Code.GO_ON}
    return sum(
        gate.why == why
        and gate.question_id in agreed
        and (not source or (gate.source, gate.target) == (source, target))
        for gate in history.stages.gates
    )


def refusal_of_stage(given: Tool, spec: RunSpec, history: History) -> str:
    """Return why a call does not fit the open stage, for its agent; empty when it fits."""
    visit = history.stages.open
    if not spec.stages or visit is None:
        no_stages = "this column has no stages: do the work yourself, then call `finish`"
        return no_stages if isinstance(given, GoToStageInput) else ""
    if not isinstance(given, AskInput | BlockInput | FinishInput | GoToStageInput):
        return ""
    if history.stages.over:  # it was reopened to repair something
        over = "the stages are over: do what you were asked for, and end the turn"
        return over if isinstance(given, GoToStageInput) else ""
    if visit.target is not None:
        return f"the work is handed over{f' to {visit.target}' if visit.target else ''}: end your turn"
    stage = stage_named(spec.stages, visit.stage)
    match given:
        case GoToStageInput(stage=stage_name) if stage_name not in stage.next:
            return f"there is no way from {stage.name} to {stage_name!r}: {ways(stage)}"
        case FinishInput() if not stage.ends:
            return f"the run does not end in {stage.name}: {ways(stage)}"
    return ""


def ways(stage: StageSpec) -> str:
    names = ", ".join(stage.next)
    go = f"call `go_to_stage` with `stage` {names if len(stage.next) == 1 else f'one of {names}'}"
    if not stage.next:
        return "call `finish`, which ends the run"
    return f"{go}, or `finish` when the run shall end" if stage.ends else go
