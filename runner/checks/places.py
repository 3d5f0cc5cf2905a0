"""Workspaces and commands of the checks: the card's place, and clean checkouts, where no agent ever was."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from ledger.ids import CardId
from runner import workspaces
from runner.exec.child import Child
from runner.gateway.control.claim import requested_hosts
from runner.git.checkout import Checkout
from runner.run.run_spec import RunSpec
from runner.session.context import RunContext
from runner.workspaces.contract import CleanWorkspace, Tenancy, Workspace

LOOK = "look-"  # begins the id of the place in which a card is investigated
# Begin the names of such places; no card has one of them for its id.
GATE, WITNESS, BROWSER, SERVERS, SET_UP = "gate-", "witness-", "repro-", "serve-", "setup-"
PURPOSES = (GATE, WITNESS, BROWSER, SERVERS, SET_UP)


def clear_away(order: RunSpec) -> None:
    """Remove the clean checkouts that a killed claim left of this card."""
    stand = {GATE: True, WITNESS: True, SET_UP: True, BROWSER: order.reproduction, SERVERS: order.servers}
    for purpose in (name for name, needed in stand.items() if needed):
        _open(order, f"{purpose}{order.card_id}").destroy()


@contextmanager
def clean_room(run: RunContext, purpose: str, name: str = "", image: str = "") -> Iterator[CleanWorkspace]:
    """Give a clean place with the commit that the mirror stores under `name`, or an empty one.

    Raises RunnerError.
    """
    order = run.order
    with empty_place(order, f"{purpose}{order.card_id}", image) as room:
        if name:
            check_out(run, room, name)
        yield room


def check_out(run: RunContext, room: CleanWorkspace, name: str) -> Checkout:
    """Check out there the commit that the mirror stores under `name`. Raises RunnerError."""
    order = run.order
    checkout = Checkout(room, run.mirror, order.authorship.author, run.beat)
    checkout.clone_from(f"refs/cardinal/{name}", order.branch, order.base_branch)
    return checkout


@contextmanager
def empty_place(order: RunSpec, name: str, image: str = "") -> Iterator[CleanWorkspace]:
    """Give an empty clean place of that name, which is removed afterwards."""
    room = _open(order, name, image)
    try:
        yield room
    finally:
        room.destroy()


def _open(order: RunSpec, name: str, image: str = "") -> CleanWorkspace:
    """Return the place of that name, emptied."""
    tenant = tenancy(order)
    tenant = replace(tenant, card_id=CardId(name), image=image or tenant.image)
    return workspaces.load(order.workspace).open_clean(order.places, tenant)


def tenancy(order: RunSpec) -> Tenancy:
    """Return the labels and limits of all containers of `order`.

    An investigation has a workspace of its own, apart from the card's.
    """
    place = CardId(f"{LOOK}{order.card_id}") if order.investigates else order.card_id
    return Tenancy(place, order.run_id, order.generation, order.image, order.resources, order.repository_id)


def start_command(
    run: RunContext,
    room: Workspace,
    command: str,
    *,
    cap_bytes: int,
    env: Mapping[str, str] | None = None,
    of_column: bool = False,
) -> Child:
    """Start a shell line in `room`; with `of_column` it has the column's network, not the open stage's.

    Raises SpawnError or WorkspaceError.
    """
    network = run.network(of_column=of_column)
    return room.start(
        ("/bin/sh", "-c", command),
        env={"CI": "1"} | network | dict(env or {}),
        writable=True,
        cap_bytes=cap_bytes,
        gateway=run.gateway.folder if run.gateway is not None and network else None,
        packages=True,
    )


def note_hosts(run: RunContext) -> None:
    """Record the hosts that the repository's commands asked for; a turn records its own."""
    if run.gateway is not None:
        run.log.append(*requested_hosts(run.gateway, run.order.run_id))
