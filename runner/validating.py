"""Validation before a pull request is offered: the fast tier each time, then the full one, capped."""

from ledger.states import RunState
from runner.checking import Tier, run_tier
from runner.gate import pass_gate
from runner.leaving import failed
from runner.live import GO_ON, STOP, LiveRun
from runner.working import repair


def validate(run: LiveRun, start: str) -> None:
    """Return once HEAD passes, letting the agent repair what fails.

    `start` is the commit that the run began at. Raises Finish when there is no change, Park at a limit.
    """
    while True:
        head = run.checkout.commit_leftovers(f"Work of run {run.order.run_id} on #{run.order.number}")
        if not has_changes(run, head, start):
            return
        run.step(RunState.VALIDATING)
        if _passed_already(run, head) or _check(run, head):
            return
        iteration = run.history.iterations
        if iteration >= run.order.limits.iterations * run.allowance.factor:
            run.ask(
                "limit",
                f"The checks still fail after {iteration} attempts to repair them. Shall the agent go on?",
                (GO_ON, STOP),
            )
        repair(run, iteration, run.history.failing_output())


def has_changes(run: LiveRun, head: str, start: str) -> bool:
    """Whether there is something to offer; False when no change is what the agent says to be right.

    Raises Finish (no_changes) when the agent claims work that is not there.
    """
    if head and head != start:
        return True
    finish_said = run.history.finish or {}
    if finish_said.get("nothing_to_do") or run.history.threads:
        return False
    raise failed("no_changes", "the agent reported that it is done, but the branch has no new commit")


def _passed_already(run: LiveRun, head: str) -> bool:
    ended, wanted = run.history.validation, run.order.validation
    last_tier = "full" if wanted.full else "fast"
    if not (wanted.fast or wanted.full):
        return True
    return ended is not None and ended.passed and ended.head == head and ended.tier == last_tier


def _check(run: LiveRun, head: str) -> bool:
    """Run both tiers as the next iteration: the fast one in the workspace, then the gate, only so often.

    Where there is only the fast one it is the gate: the agent's place can make any command pass.
    """
    iteration = run.history.iterations + 1
    wanted = run.order.validation
    if not wanted.full:
        return pass_gate(run, iteration, "fast", wanted.fast)
    if wanted.fast:
        tier = Tier("fast", iteration, head, run.mirror.head(run.order.base_branch))
        passed = run_tier(run, run.workspace, tier, wanted.fast)
        run.checkout.restore(head)  # what checks leave behind is not the agent's work
        if not passed:
            return False
    if run.history.full_runs >= run.order.limits.full_runs * run.allowance.factor:
        run.ask(
            "limit",
            f"The full checks ran {run.history.full_runs} times and have not passed. Shall the agent go on?",
            (GO_ON, STOP),
        )
    return pass_gate(run, iteration, "full", wanted.full)
