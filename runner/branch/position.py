"""The head of GitHub's branch that a run's work is based on."""

from runner.session.context import RunContext


def note_head(run: RunContext) -> None:
    """Remember the pushes on which the newest export is based."""
    base = run.mirror.head(run.order.base_branch)
    run.mirror.remember(_seen_by_head(run), seen(run) or base)


def go_back_to_head(run: RunContext) -> None:
    """Forget the pushes since the newest export: the checkout is that one again."""
    then = run.mirror.recall(_seen_by_head(run))
    if then and seen(run):
        stand_on(run, then)


def seen(run: RunContext) -> str:
    """Return GitHub's newest head of the branch that the work is based on; empty without one."""
    return run.mirror.recall(_seen(run))


def stand_on(run: RunContext, commit: str) -> None:
    """Remember the base of the work, for this run and for the next one in its workspace."""
    run.workspace.stand_on(commit)  # first: a seen commit is not looked at again
    run.mirror.remember(_seen(run), commit)


def _seen(run: RunContext) -> str:
    return f"{run.order.run_id}-seen"


def _seen_by_head(run: RunContext) -> str:
    return f"{run.order.run_id}-brought"
