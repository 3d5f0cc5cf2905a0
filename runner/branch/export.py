"""The way out of a workspace: its HEAD comes into the host's mirror as a bundle, object by object checked,
and every commit of it becomes Cardinal's own.
"""

from runner.branch.rebase import note_head
from runner.branch.rewrite_authors import stamp
from runner.run.context import RunContext

_BUNDLE_CAP_BYTES = 500_000_000


def export_commit(run: RunContext) -> str:
    """Return the commit that leaves; the mirror has it as refs/cardinal/<run>-head then, and the workspace's
    HEAD is the same one.

    Raises WorkspaceError, OversizedRepositoryError, LongHistoryError, UnsoundObjectsError or GitError.
    """
    order, mirror = run.order, run.mirror
    for left in order.places.mirrors.glob(f"{order.run_id}-*.bundle"):
        left.unlink()  # by a claim that was killed while it exported
    bundle = order.places.mirrors / f"{order.run_id}-{run.log.generation}.bundle"
    try:
        run.checkout.export(bundle, mirror.head(order.base_branch), _BUNDLE_CAP_BYTES)
        brought = mirror.take_bundle(bundle, head_name(run))
    finally:
        bundle.unlink(missing_ok=True)
    head = stamp(run, brought)
    if head != brought:
        mirror.remember(head_name(run), head)
        run.checkout.adopt(f"refs/cardinal/{head_name(run)}")
    note_head(run)
    return head


def head_name(run: RunContext) -> str:
    """Return the name under which the mirror knows what was brought out last."""
    return f"{run.order.run_id}-head"
