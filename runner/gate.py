"""The gate: the full checks, where the agent never was. What it left lying about cannot help it pass."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ledger.ids import CardId
from runner import workspaces
from runner.checking import Tier, run_tier
from runner.checkout import Checkout
from runner.exporting import bring_out, head_name
from runner.live import LiveRun
from runner.order import WorkOrder
from runner.tenancy import tenancy
from runner.workspace import Workspace


def pass_gate(run: LiveRun, iteration: int, name: str, commands: Sequence[str]) -> bool:
    """Run set-up and a tier's checks on a clean checkout of what the workspace's HEAD really is.

    Set-up runs there as well, as part of the evidence. Raises RepositoryError, WorkspaceError or Obey.
    """
    head = bring_out(run)
    tier = Tier(name, iteration, head, run.mirror.head(run.order.base_branch), clean=True)
    with _clean_checkout(run) as room:
        return run_tier(run, room, tier, commands, run.order.validation.setup)


def clear_away(order: WorkOrder) -> None:
    """Remove the gate of this card that a killed claim left behind, if one did."""
    _place(order).destroy()


def _place(order: WorkOrder) -> Workspace:
    """Return the place where the card's gate stands, made when it was not there; no card has its id."""
    tenant = replace(tenancy(order), card_id=CardId(f"gate-{order.card_id}"))
    return workspaces.load(order.workspace).open(order.places, tenant)


@contextmanager
def _clean_checkout(run: LiveRun) -> Iterator[Workspace]:
    """Give a place with nothing but the commit; it is gone afterwards."""
    order = run.order
    clear_away(order)
    room = _place(order)
    try:
        checkout = Checkout(room, run.mirror.path, order.committer, run.beat)
        checkout.clone_from(f"refs/cardinal/{head_name(run)}", order.branch, order.base_branch)
        yield room
    finally:
        room.destroy()
