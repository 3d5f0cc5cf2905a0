"""The gate: the full checks, where the agent never was. What it left lying about cannot help it pass."""

from collections.abc import Sequence

from runner.branch.export import export_commit, head_name
from runner.checks.clean_checkout import GATE, clean_room
from runner.checks.tier import Tier, run_tier
from runner.run.context import RunContext


def pass_gate(run: RunContext, iteration: int, name: str, commands: Sequence[str]) -> bool:
    """Run set-up and a tier's checks on a clean checkout of what the workspace's HEAD really is.

    Set-up runs there as well, as part of the evidence. Raises RepositoryError,
    WorkspaceError or StopRequested.
    """
    head = export_commit(run)
    tier = Tier(name, iteration, head, run.mirror.head(run.order.base_branch), clean=True)
    with clean_room(run, GATE, head_name(run)) as room:
        return run_tier(run, room, tier, commands, set_up=run.order.validation.setup)
