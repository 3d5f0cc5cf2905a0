"""Workspaces of a run: the card's, and clean checkouts of one commit, where no agent ever was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ledger.ids import CardId
from runner import workspaces
from runner.git.checkout import Checkout
from runner.run.context import RunContext
from runner.run.run_spec import RunSpec
from runner.workspaces.contract import Tenancy, Workspace

LOOK = "look-"  # begins the id of the place in which a card is investigated
GATE, BROWSER = "gate-", "repro-"  # begin the names of such places; no card has one of them for its id
PURPOSES = (GATE, BROWSER)


def clear_away(order: RunSpec) -> None:
    """Remove the clean checkouts that a killed claim left of this card."""
    _place(order, GATE).destroy()
    if order.reproduction is not None:
        _place(order, BROWSER).destroy()


@contextmanager
def clean_room(run: RunContext, purpose: str, name: str, image: str = "") -> Iterator[Workspace]:
    """Give a workspace with the commit that the mirror stores under `name`. Raises RunnerError."""
    order = run.order
    _place(order, purpose, image).destroy()
    room = _place(order, purpose, image)
    try:
        checkout = Checkout(room, run.mirror.path, order.committer, run.beat)
        checkout.clone_from(f"refs/cardinal/{name}", order.branch, order.base_branch)
        yield room
    finally:
        room.destroy()


def _place(order: RunSpec, purpose: str, image: str = "") -> Workspace:
    """Return the card's workspace for that purpose, created when missing."""
    tenant = tenancy(order)
    tenant = replace(tenant, card_id=CardId(f"{purpose}{order.card_id}"), image=image or tenant.image)
    return workspaces.load(order.workspace).open(order.places, tenant)


def tenancy(order: RunSpec) -> Tenancy:
    """Return the labels and limits of all containers of `order`.

    An investigation has a workspace of its own, apart from the card's.
    """
    place = CardId(f"{LOOK}{order.card_id}") if order.investigates else order.card_id
    return Tenancy(place, order.run_id, order.generation, order.image, order.resources)
