"""Staged run: one agent per stage, until a stage ends the work."""

from ledger.states import RunState
from runner.agents.contract import Phase
from runner.phases.early import publish_early
from runner.phases.stage_transitions import ask, brief_stage, close, enter_stage, exit_stage
from runner.phases.work import cut_short, deliver_answer, resume, take_turn
from runner.run.exits import fail
from runner.run.facts import StageVisit
from runner.session.context import RunContext
from runner.session.stage_machine import Enter, admit_entry


def play_stages(run: RunContext) -> None:
    """Return once a stage has ended the work, and no turn or answer is left over.

    Continues from the events. Raises Park when people must decide, and Finish when an agent ends its turn
    without choosing the next stage.
    """
    log = run.history.stages
    while not log.over:
        visit = log.open
        if visit is not None:
            _play(run, visit)
            exit_stage(run, visit)
            publish_early(run)
            continue
        due = admit_entry(run.spec.stages, run.history)
        if isinstance(due, Enter):
            enter_stage(run, due)
        else:
            ask(run, due)
    if log.open is not None:
        _resume(run, log.open)
    deliver_answer(run)
    close(run)


def _play(run: RunContext, visit: StageVisit) -> None:
    """Return once the agent of this entry chose the next stage."""
    _resume(run, visit)
    if visit.target is None and visit.turn not in run.history.turns:
        run.step(RunState.WORKING)
        brief_stage(run, visit)
        take_turn(run, Phase.STAGE, visit.turn)
    report = f"{Phase.REPORT}-{visit.turn}"
    if visit.target is None and report not in run.history.turns:
        run.step(RunState.WORKING)
        take_turn(run, Phase.REPORT, report)
    if visit.target is None:
        said = "neither `go_to_stage` nor `finish` was called, and not when it was asked to"
        raise fail("gave_up", f"the agent of stage {visit.stage} left without saying how to continue: {said}")


def _resume(run: RunContext, visit: StageVisit) -> None:
    """Resume the entry's newest turn when it did not end by itself, unless it has handed over."""
    cut = cut_short(run, since=visit.seq)
    unheard = run.history.undelivered_answer() is not None
    if cut and (visit.target is None or run.history.stages.over or unheard):
        resume(run, cut)
