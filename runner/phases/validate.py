"""Validate phase: fast checks, then the gate, before a pull request is offered."""

from ledger.events.bounds import RoundBegan, ValidationWaived
from ledger.events.run import ValidationEnded
from ledger.rows.limit_answers import GO_ON, STOP, Subject
from ledger.states import RunState
from runner.branch.export import commit_work, export_commit, head_name
from runner.checks.by_path import checks_of
from runner.checks.places import GATE, clean_room
from runner.checks.repair_limits import ask_about_standstill, check_repairs, check_size, describe_failure
from runner.checks.tier import GateTier, Tier, run_tier
from runner.phases.early import publish_early
from runner.phases.work import repair
from runner.run.exits import fail
from runner.run.run_spec import RunSpec, ValidationSpec
from runner.session.context import RunContext

_NO_COMMIT = "the agent reported that it is done, but the branch has no new commit"
_OF_SET_UP = (
    ". Files are not published as `setup` made them: if the repository should have those, take the command"
    " that makes them out of `setup`"
)


def validate_work(run: RunContext, start: str) -> None:
    """Return once HEAD passes; the agent repairs failures, within limits.

    `start` is the run's start commit. Raises Finish without a change, Park at a limit and where repairs lead
    nowhere.
    """
    needs_change = run.spec.has_repository  # else a report is a result, and the checks judge any files
    if not needs_change and run.spec.validation.waived:
        return  # a person judges
    while True:
        head = commit_work(run, f"Work of run {run.spec.run_id} on {run.spec.reference}", start)
        if needs_change and not has_changes(run, head, start):
            return
        head = export_commit(run, publish_early(run) or head)
        if needs_change and not has_changes(run, head, start):  # it had only what set-up left
            return
        checks = checks_of(run.mirror, run.spec.validation, run.mirror.head(run.spec.base_branch), head)
        if checks.waived:
            _waive(run, head)
            return
        run.step(RunState.VALIDATING)
        if _has_passed_already(run, checks, head) or _pass(run, checks, head):
            return
        check_repairs(run)
        # By the failed round: refusals of guards count as iterations too.
        failed_in = run.history.rounds.newest
        number = failed_in.iteration if failed_in is not None else run.history.iterations
        repair(run, number, run.history.rounds.newest_output())


def demand_checks(spec: RunSpec) -> None:
    """Raise Finish (no_validation) where a run would change files and nothing could check them."""
    validation_spec = spec.validation
    if spec.mode == "fix" and not (validation_spec.fast or validation_spec.full or validation_spec.waived):
        raise fail("no_validation", validation_spec.absent or "the repository's policy names no checks")


def has_changes(run: RunContext, head: str, start: str) -> bool:
    """Whether there is a change; False when the agent says that none is needed.

    Raises Finish (no_changes) when the agent claims work that is not there.
    """
    if head and head != start:
        return True
    finish_said = run.history.finish or {}
    if finish_said.get("nothing_to_do") or run.history.threads:
        return False
    of_set_up = _OF_SET_UP if run.spec.validation.setup else ""
    raise fail("no_changes", f"{_NO_COMMIT}{of_set_up}")


def _waive(run: RunContext, head: str) -> None:
    """Record that the policy waives the checks of this commit."""
    base = run.mirror.head(run.spec.base_branch)
    waived = ValidationWaived(run.spec.run_id, head, base, run.spec.validation.definition)
    run.log.append(*run.steps_to(RunState.VALIDATING), *((waived,) if run.history.waived != head else ()))


def _has_passed_already(run: RunContext, checks: ValidationSpec, head: str) -> bool:
    ended = run.history.validation
    last_tier = "full" if checks.full else "fast"
    if ended is None or not ended.clean or not same_checks(ended, checks):
        return False
    judged = run.history.early.signed.get(head, head)
    return ended.passed and ended.head in (head, judged) and ended.tier == last_tier


def same_checks(ended: ValidationEnded, checks: ValidationSpec) -> bool:
    """Whether the tier that ended had the same checks, of the same paths."""
    return (ended.definition, ended.paths) == (checks.definition, checks.covers)


def _pass(run: RunContext, checks: ValidationSpec, head: str) -> bool:
    """Return whether the work passes. A failure that the agent has not seen yet is not checked again.

    The host's mirror decides, not the workspace. Raises Park where the change is too large, or where the
    files are unchanged since a failure that the agent has seen.
    """
    if run.spec.has_repository:  # else a limit of its own counts when the files are stored
        check_size(run, run.mirror.diff(run.mirror.head(run.spec.base_branch), head))
    rounds, tree = run.history.rounds, run.mirror.tree(head)
    newest = rounds.newest
    if newest is not None and newest.tree == tree and f"repair-{newest.iteration}" not in run.history.turns:
        return False  # the agent has not had its turn to repair that
    event = rounds.on(tree)
    if event is not None:
        ask_about_standstill(run, event.iteration)
    return _check(run, checks, head)


def _check(run: RunContext, checks: ValidationSpec, head: str) -> bool:
    """Run both tiers as the next iteration: the fast one in the workspace, then the gate, within its limit.

    A fast tier alone is the gate: in the agent's workspace any command can pass.
    """
    iteration = run.history.iterations + 1
    if not checks.full:
        return _pass_gate(run, checks, head, iteration)
    if checks.fast:
        base = run.mirror.head(run.spec.base_branch)
        tier = Tier(
            name="fast", iteration=iteration, head=head, base=base, checks=checks, workspace=run.workspace
        )
        run.log.append(RoundBegan(run.spec.run_id, iteration, head))
        # What checks leave behind, or do to the branch, is not the agent's work.
        if not run_tier(run, tier, tidy=lambda: run.checkout.restore(head)):
            return False
    full_runs = run.history.full_runs
    if full_runs >= run.spec.limits.full_runs * run.allowance.times(Subject.REPAIRS):
        why = f"The full checks ran {full_runs} times and have not passed."
        run.ask(
            Subject.REPAIRS,
            f"{why} {describe_failure(run.history.rounds)} Let the agent continue?",
            (GO_ON, STOP),
        )
    return _pass_gate(run, checks, head, iteration)


def _pass_gate(run: RunContext, checks: ValidationSpec, head: str, iteration: int) -> bool:
    """Run set-up and checks on a clean checkout of `head`, the newest export.

    Set-up runs there as well, as part of the evidence. Raises RepositoryError, WorkspaceError or
    StopRequested.
    """
    base = run.mirror.head(run.spec.base_branch)
    name = "full" if checks.full else "fast"
    with clean_room(run, GATE, head_name(run)) as workspace:
        return run_tier(
            run,
            GateTier(
                name=name, iteration=iteration, head=head, base=base, checks=checks, workspace=workspace
            ),
        )
