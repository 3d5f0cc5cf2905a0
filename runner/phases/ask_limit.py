"""The question that a run asks at a limit: what was spent, how far the plan is, what may be done."""

from typing import NoReturn

from ledger.model.limit_answers import AS_FAR, GO_ON, STOP, Subject
from runner.run.context import RunContext
from runner.run.limits import ExceededLimit, RunUsage

_SUBJECTS = {ExceededLimit.TIME: Subject.TIME, ExceededLimit.TURNS: Subject.TURNS}


def ask_limit(run: RunContext, verdict: ExceededLimit, spent: RunUsage) -> NoReturn:
    """Ask whether the run may go on, and park. More dollars of its own help only where its own ran out."""
    allowance = run.allowance
    text = f"The run reached {allowance.reached(verdict, spent)}{_plan(run)}."
    if verdict in _SUBJECTS:
        run.ask(_SUBJECTS[verdict], f"{text} Shall it go on?", (GO_ON, STOP))
    if allowance.shared:
        run.ask(Subject.SHARED, f"{text}{allowance.advice()} Shall it go on then?", (AS_FAR, STOP))
    run.ask(Subject.BUDGET, f"{text} Shall it go on?", (GO_ON, STOP))


def _plan(run: RunContext) -> str:
    plan = run.history.plan
    if plan is None or not plan.steps:
        return ""
    return f"; plan: {min(plan.done, len(plan.steps))} of {len(plan.steps)} steps done"
