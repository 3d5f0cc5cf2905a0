"""The last stage: the branch leaves the workspace as a bundle, is judged on the host, and goes to GitHub."""

from ledger.events.run import BranchExported, BranchPushed, RunEnded
from ledger.model.limit_answers import PUBLISH, STOP, Subject
from ledger.states import Ending, RunState
from runner.artifacts import keep
from runner.branch.commit_messages import concerns
from runner.branch.export import export_commit
from runner.branch.rebase import seen
from runner.branch.rewrite_authors import missing, published, rebased
from runner.checks.repair_limits import oversize
from runner.errors import MovedBranchError
from runner.git.mirror import DiffStat
from runner.phases.guard import ask_people
from runner.run.context import RunContext
from runner.run.exits import failed
from runner.run.instructions import digest_of
from runner.session.tool_effects import report
from runner.text.truncate import one_line

_SHOWN = 3


def publish(run: RunContext, start: str) -> None:
    """Push the branch if it moved, then write answers, report and ending in one transaction.

    Raises Park when the change is over the size limits or touches what is protected, MovedBranchError when
    people pushed to the branch meanwhile, another RepositoryError when GitHub does not take it.
    """
    run.step(RunState.PUBLISHING)
    order = run.order
    events: list[BranchPushed] = []
    if run.checkout.commit() != start:
        head = _export(run)
        run.log.append(*keep.patch(run, run.mirror.head(order.base_branch), head))
        _push(run, head)
        events.append(BranchPushed(order.run_id, order.branch, head))
    ended = RunEnded(order.run_id, Ending.SUCCEEDED, "", "", one_line(run.history.last_line))
    run.log.append(*events, *report(order, run.history), *keep.report(run), ended)


def _export(run: RunContext) -> str:
    """Bring HEAD into the mirror and record what it changes; return its commit."""
    order, mirror = run.order, run.mirror
    base, head = mirror.head(order.base_branch), export_commit(run)
    _stands_as_checked(run, head)
    change = mirror.diff(base, head)
    if change.commits == 0 or change.files_changed == 0:
        raise failed("no_changes", "the branch is no different from its base")
    if run.history.exported is None or run.history.exported.head != head:
        run.log.append(
            BranchExported(
                order.run_id,
                order.branch,
                base,
                head,
                change.files_changed,
                change.lines_changed,
                change.commits,
            )
        )
    ask_people(run, head)
    _guard(run, change, head)
    return head


def _stands_as_checked(run: RunContext, head: str) -> None:
    """Raise Finish unless the commit that leaves is the very one that the gate let pass."""
    passed = run.history.validation
    if run.order.validation.waived and run.history.waived == head:
        return
    if passed is None or not (passed.passed and passed.clean) or passed.head != head:
        raise failed("validation", f"the branch stands at {head}, which is not what passed the full checks")


def _guard(run: RunContext, change: DiffStat, head: str) -> None:
    """Ask people about a change that is large, and about odd commits: of these by what is said of them."""
    over = oversize(change, run.order.limits, run.published(Subject.SIZE))
    odd = _odd_commits(run, head)
    digest = digest_of("\n".join(odd)) if odd else ""
    if over.said or (odd and not run.may_publish(Subject.SIZE, digest)):
        large = f"The change is large: {over.said}." if over.said else ""
        strange = f"Commit {'; '.join(odd)}." if odd else ""
        text = f"{' '.join(filter(None, (large, strange)))} Publish it?"
        run.ask(Subject.SIZE, text, (PUBLISH, STOP), size=over.size, digest=digest)


def _odd_commits(run: RunContext, head: str) -> tuple[str, ...]:
    """Return what is to be said of the commits that GitHub does not have yet."""
    said = concerns(run.mirror.commits(head, *published(run)), rebased(run, head), run.order.own_number)
    lost = tuple(
        f"{one.commit[:8]} by {one_line(one.author, 80)!r} was pushed by people, and is missing or altered"
        for one in missing(run, head)
    )
    return (*said, *lost[:_SHOWN])


def _push(run: RunContext, head: str) -> None:
    """Push with a lease on what the run has taken in; a push that was made before a crash is not
    repeated.
    """
    order, mirror = run.order, run.mirror
    mirror.fetch(order.base_branch)
    now = mirror.head(order.branch)
    if now not in ("", head, seen(run)):
        raise MovedBranchError(order.branch)
    if now != head:
        mirror.push(head, order.branch, now)
    run.workspace.stand_on(head)
