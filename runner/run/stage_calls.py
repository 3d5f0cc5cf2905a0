"""What a stage allows its agent to say: where the work may go, and when it may end. Pure."""

from runner.agents.board_tools import AskInput, BlockInput, FinishInput, GoToStageInput, Tool
from runner.run.history import History
from runner.run.run_spec import RunSpec, StageSpec
from runner.run.stage_machine import named


def refusal_of_stage(given: Tool, order: RunSpec, history: History) -> str:
    """Return why the call does not fit the stage that is open, for its agent; empty when it does."""
    visit = history.stages.open
    if not order.stages or visit is None:
        no_stages = "this column has no stages: do the work yourself, then call `finish`"
        return no_stages if isinstance(given, GoToStageInput) else ""
    if not isinstance(given, AskInput | BlockInput | FinishInput | GoToStageInput):
        return ""
    if history.stages.over:  # it was reopened to repair something
        over = "the stages are over: do what you were asked for, and end the turn"
        return over if isinstance(given, GoToStageInput) else ""
    if visit.target is not None:
        return f"the work is handed over{f' to {visit.target}' if visit.target else ''}: end your turn"
    stage = named(order.stages, visit.stage)
    match given:
        case GoToStageInput(stage=wanted) if wanted not in stage.next:
            return f"there is no way from {stage.name} to {wanted!r}: {ways(stage)}"
        case FinishInput() if not stage.ends:
            return f"the run does not end in {stage.name}: {ways(stage)}"
    return ""


def ways(stage: StageSpec) -> str:
    """Return how a stage is left, as its agent reads it."""
    names = ", ".join(stage.next)
    go = f"call `go_to_stage` with `stage` {names if len(stage.next) == 1 else f'one of {names}'}"
    if not stage.next:
        return "call `finish`, which ends the run"
    return f"{go}, or `finish` when the run shall end" if stage.ends else go
