"""A run whose column has stages: each is played by an agent of its own until one of them ends the work."""

from runner.agents.contract import Phase
from runner.phases.stage_transitions import ask, brief, close, enter, leave
from runner.phases.work import at_work, cut_short, deliver_answer, detail_of, phase_of, take_turn
from runner.run.context import RunContext
from runner.run.exits import failed
from runner.run.stage_history import StageVisit
from runner.run.stage_machine import Enter, admit


def play_stages(run: RunContext) -> None:
    """Return once a stage has ended the work, and nothing of it is cut short or left unsaid.

    It goes on where the events stop. Raises Park when people are to decide, and Finish when an agent leaves
    its turn without saying where the work goes.
    """
    log = run.history.stages
    while not log.over:
        visit = log.open
        if visit is not None:
            _play(run, visit)
            leave(run, visit)
            continue
        due = admit(run.order.stages, run.history)
        if isinstance(due, Enter):
            enter(run, due)
        else:
            ask(run, due)
    if log.open is not None:
        _resume(run, log.open)
    deliver_answer(run)
    close(run)


def _play(run: RunContext, visit: StageVisit) -> None:
    """Return once the agent of this entry said where the work goes."""
    _resume(run, visit)
    if visit.target is None and visit.turn not in run.history.turns:
        at_work(run)
        brief(run, visit)
        take_turn(run, Phase.STAGE, visit.turn)
    report = f"{Phase.REPORT}-{visit.turn}"
    if visit.target is None and report not in run.history.turns:
        at_work(run)
        take_turn(run, Phase.REPORT, report)
    if visit.target is None:
        said = "neither `go_to_stage` nor `finish` was called, and not when it was asked to"
        raise failed("gave_up", f"the agent of stage {visit.stage} left without saying how to go on: {said}")


def _resume(run: RunContext, visit: StageVisit) -> None:
    """Take up the entry's newest turn again when it did not end by itself, unless it has handed over."""
    cut = cut_short(run, since=visit.seq)
    unheard = run.history.undelivered_answer() is not None
    if cut and (visit.target is None or run.history.stages.over or unheard):
        at_work(run)
        take_turn(run, phase_of(cut), cut, detail=detail_of(run, phase_of(cut)))
