"""The head of GitHub's branch that a run's work is based on."""

from runner.session.context import RunContext


def note_head(run: RunContext) -> None:
    """Remember the pushes on which the newest export is based."""
    base = run.mirror.head(run.spec.base_branch)
    run.mirror.remember(_ref_by_head(run), read_base_head(run) or base)


def go_back_to_head(run: RunContext) -> None:
    """Forget the pushes since the newest export: the checkout is that one again."""
    then = run.mirror.read_ref(_ref_by_head(run))
    if then and read_base_head(run):
        record_base_head(run, then)


def read_base_head(run: RunContext) -> str:
    """Return GitHub's newest head of the branch that the work is based on; empty without one."""
    return run.mirror.read_ref(_ref_of_base_head(run))


def record_base_head(run: RunContext, commit: str) -> None:
    """Remember the base of the work, for this run and for the next one in its workspace."""
    run.workspace.record_base(commit)  # first: a seen commit is not looked at again
    run.mirror.remember(_ref_of_base_head(run), commit)


def _ref_of_base_head(run: RunContext) -> str:
    return f"{run.spec.run_id}-seen"


def _ref_by_head(run: RunContext) -> str:
    return f"{run.spec.run_id}-brought"
