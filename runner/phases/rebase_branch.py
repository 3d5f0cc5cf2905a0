"""Puts a delivered branch on the newest base and pushes it: no agent, and nobody's commits are lost."""

from ledger.events.branch import BranchRebased
from runner.branch.export import export_commit, head_name, lost_commits
from runner.branch.position import stand_on
from runner.errors import MovedBranchError
from runner.git.mirror import Heads
from runner.phases.publish import push
from runner.run.exits import failed
from runner.session.context import RunContext
from runner.text.plain import one_line

_SHOWN = 10
_WAY_OUT = (
    "merge {base} into {branch} by hand and push that, or drag the card back to its execution column: the"
    " next run asks how to proceed"
)


def rebase_branch(run: RunContext, heads: Heads) -> str:
    """Rebase GitHub's branch in an empty workspace, push it with a lease, and return its commit.

    A branch that has its base already stays as it is. Raises Finish, with the branch untouched, on a conflict
    and where a rebase would lose or alter people's commits.
    """
    order, mirror = run.order, run.mirror
    if mirror.goes_on_from(heads.branch, heads.base):
        before = mirror.recall(_before(run))
        if before and heads.branch == mirror.recall(head_name(run)):  # a claim died right behind its push
            _note(run, before, heads.branch, heads.base)
        return heads.branch
    if any(len(commit.parents) > 1 for commit in mirror.commits(heads.branch, heads.base)):
        raise _stuck(run, "it has merge commits, which a rebase would drop")
    mirror.remember(_before(run), heads.branch)
    run.checkout.clone(order.branch, order.base_branch, heads)
    stand_on(run, heads.branch)
    conflicts = run.checkout.put_on(heads.base, f"Unfinished work before run {order.run_id}")
    if conflicts:
        more = " …" if len(conflicts) > _SHOWN else ""
        raise _stuck(run, f"both change {', '.join(conflicts[:_SHOWN])}{more}")
    head = export_commit(run, run.checkout.commit())
    if lost := lost_commits(run, head):
        raise _stuck(run, f"commit {lost[0].commit[:8]} by {one_line(lost[0].author, 80)!r} would be altered")
    try:
        head = push(run, head)
    except MovedBranchError as error:
        raise failed("superseded", f"{order.branch} has new commits on GitHub") from error
    _note(run, heads.branch, head, heads.base)
    return head


def _note(run: RunContext, before: str, after: str, base: str) -> None:
    same = _lines(run, before, base) == _lines(run, after, base)
    order = run.order
    run.log.append(BranchRebased(order.run_id, order.card_id, order.branch, before, after, base, same))


def _lines(run: RunContext, head: str, base: str) -> tuple[str, ...]:
    """Return the lines that a commit adds and removes since it left the base, file by file. Of binary files,
    which show no lines, the ids of the objects are among it.
    """
    patch = run.mirror.patch(base, head)
    kept = (
        "+",
        "-",
        "diff ",
        "new ",
        "deleted ",
        "old ",
        *(("index ",) if "\nBinary files " in patch else ()),
    )
    return tuple(line for line in patch.splitlines() if line.startswith(kept))


def _before(run: RunContext) -> str:
    """Return the mirror's name for GitHub's branch before the rebase."""
    return f"{run.order.run_id}-before"


def _stuck(run: RunContext, why: str) -> Exception:
    order = run.order
    way_out = _WAY_OUT.format(base=order.base_branch, branch=order.branch)
    return failed("conflict", f"{order.branch} cannot be rebased on {order.base_branch}: {why}; {way_out}")
