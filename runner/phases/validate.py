"""Validation before a pull request is offered: the fast tier each time, then the full one, capped."""

from ledger.events.bounds import RoundBegan, ValidationWaived
from ledger.model.limit_answers import GO_ON, STOP, Subject
from ledger.states import RunState
from runner.branch.export import export_commit
from runner.checks.gate import pass_gate
from runner.checks.repair_limits import ask_about_standstill, bound_repairs, bound_size, describe_failure
from runner.checks.tier import Tier, run_tier
from runner.phases.work import repair
from runner.run.context import RunContext
from runner.run.exits import failed
from runner.run.run_spec import RunSpec


def validate(run: RunContext, start: str) -> None:
    """Return once HEAD passes, letting the agent repair what fails, within bounds.

    `start` is the commit that the run began at. Raises Finish when there is no change, Park at a limit and
    where repairs lead nowhere.
    """
    while True:
        head = run.checkout.commit_leftovers(f"Work of run {run.order.run_id} on {run.order.reference}")
        if not has_changes(run, head, start):
            return
        run.step(RunState.VALIDATING)
        if run.order.validation.waived:
            _waive(run)
            return
        if _passed_already(run, head) or _pass(run):
            return
        bound_repairs(run)
        # By the round that failed: what guards refused counts as an iteration, too.
        failed_in = run.history.rounds.newest
        number = failed_in.iteration if failed_in is not None else run.history.iterations
        repair(run, number, run.history.rounds.told())


def demand_checks(order: RunSpec) -> None:
    """Raise Finish (no_validation) where a run would change files and nothing could check them."""
    wanted = order.validation
    if order.mode == "fix" and not (wanted.fast or wanted.full or wanted.waived):
        raise failed("no_validation", wanted.absent or "the repository's policy names no checks")


def has_changes(run: RunContext, head: str, start: str) -> bool:
    """Whether there is something to offer; False when no change is what the agent says to be right.

    Raises Finish (no_changes) when the agent claims work that is not there.
    """
    if head and head != start:
        return True
    finish_said = run.history.finish or {}
    if finish_said.get("nothing_to_do") or run.history.threads:
        return False
    raise failed("no_changes", "the agent reported that it is done, but the branch has no new commit")


def _waive(run: RunContext) -> None:
    """Record that nothing checks this commit, because the policy says so."""
    head, base = export_commit(run), run.mirror.head(run.order.base_branch)
    if run.history.waived != head:
        run.log.append(ValidationWaived(run.order.run_id, head, base, run.order.validation.definition))


def _passed_already(run: RunContext, head: str) -> bool:
    ended, wanted = run.history.validation, run.order.validation
    last_tier = "full" if wanted.full else "fast"
    if ended is None or not ended.clean or ended.definition != wanted.definition:
        return False
    return ended.passed and ended.head == head and ended.tier == last_tier


def _pass(run: RunContext) -> bool:
    """Return whether the work passes. What failed and was not given back to the agent yet is not run again.

    The host's mirror says what the work is, not the workspace. Raises Park where the change is too large, or
    where the agent was told what fails and the files are the same.
    """
    head = export_commit(run)
    bound_size(run, run.mirror.diff(run.mirror.head(run.order.base_branch), head))
    rounds, tree = run.history.rounds, run.mirror.tree(head)
    newest = rounds.newest
    if newest is not None and newest.tree == tree and not _given_back(run, newest.iteration):
        return False
    known = rounds.on(tree)
    if known is not None:
        ask_about_standstill(run, known.iteration)
    return _check(run, head)


def _given_back(run: RunContext, iteration: int) -> bool:
    """Whether the agent had its turn to repair what failed in that iteration."""
    return f"repair-{iteration}" in run.history.turns


def _check(run: RunContext, head: str) -> bool:
    """Run both tiers as the next iteration: the fast one in the workspace, then the gate, only so often.

    Where there is only the fast one it is the gate: the agent's place can make any command pass.
    """
    iteration = run.history.iterations + 1
    wanted = run.order.validation
    if not wanted.full:
        return pass_gate(run, iteration, "fast", wanted.fast)
    if wanted.fast:
        tier = Tier("fast", iteration, head, run.mirror.head(run.order.base_branch))
        run.log.append(RoundBegan(run.order.run_id, iteration, head))
        # What checks leave behind, or do to the branch, is not the agent's work.
        if not run_tier(run, run.workspace, tier, wanted.fast, tidy=lambda: run.checkout.restore(head)):
            return False
    full_runs = run.history.full_runs
    if full_runs >= run.order.limits.full_runs * run.allowance.times(Subject.REPAIRS):
        why = f"The full checks ran {full_runs} times and have not passed."
        run.ask(
            Subject.REPAIRS,
            f"{why} {describe_failure(run.history.rounds)} Shall the agent go on?",
            (GO_ON, STOP),
        )
    return pass_gate(run, iteration, "full", wanted.full)
