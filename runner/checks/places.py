"""Workspaces and commands of the checks: the card's place, and clean checkouts, where no agent ever was."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from ledger.ids import CardId
from ledger.model.run_modes import workspace_name
from runner import workspaces
from runner.exec.child import Child
from runner.gateway.control.claim import take_requested_hosts
from runner.git.checkout import Checkout
from runner.run.run_spec import RunSpec, ServiceSpec
from runner.session.context import RunContext
from runner.workspaces.card_folder import is_there
from runner.workspaces.contract import CleanWorkspace, Tenancy, Workspace

# Begin the names of such places; no card has one of them for its id.
GATE, WITNESS, BROWSER, SERVERS, SET_UP = "gate-", "witness-", "repro-", "serve-", "setup-"
PURPOSES = (GATE, WITNESS, BROWSER, SERVERS, SET_UP)


def clear_away(spec: RunSpec) -> None:
    """Remove the clean checkouts that a killed claim left of this card.

    A place's folder is made before its containers, and removed after them.
    """
    for name in (CardId(f"{purpose}{spec.place}") for purpose in PURPOSES):
        if is_there(spec.paths.workspaces, name):
            _open(spec, name).destroy()


@contextmanager
def clean_room(run: RunContext, purpose: str, name: str = "", image: str = "") -> Iterator[CleanWorkspace]:
    """Give a clean place with the commit that the mirror stores under `name`, or an empty one.

    Raises RunnerError.
    """
    spec = run.spec
    with empty_place(spec, f"{purpose}{spec.place}", image) as workspace:
        if name:
            check_out(run, workspace, name)
        yield workspace


def check_out(run: RunContext, workspace: CleanWorkspace, name: str) -> Checkout:
    """Check out there the commit that the mirror stores under `name`. Raises RunnerError."""
    spec = run.spec
    checkout = Checkout(workspace, run.mirror, spec.authorship.author, run.beat)
    checkout.clone_from(f"refs/cardinal/{name}", spec.branch, spec.base_branch)
    return checkout


@contextmanager
def empty_place(spec: RunSpec, name: str, image: str = "") -> Iterator[CleanWorkspace]:
    """Give an empty clean place of that name, which is removed afterwards."""
    workspace = _open(spec, name, image)
    try:
        yield workspace
    finally:
        workspace.destroy()


def _open(spec: RunSpec, name: str, image: str = "") -> CleanWorkspace:
    tenant = tenancy(spec)
    tenant = replace(tenant, card_id=CardId(name), image=image or tenant.image)
    return workspaces.load(spec.workspace).open_clean(spec.paths, tenant)


def tenancy(spec: RunSpec) -> Tenancy:
    """Return the labels and limits of all containers of `spec`.

    An investigation has a workspace of its own, apart from the card's, and so has work without a repository.
    """
    card_id = CardId(workspace_name(spec.mode, spec.place, spec.folder))
    return Tenancy(
        card_id=card_id,
        run_id=spec.run_id,
        generation=spec.generation,
        image=spec.image,
        resources=spec.resources,
        repository_id=spec.repository_id,
    )


def start_command(
    run: RunContext,
    workspace: Workspace,
    command: str,
    *,
    cap_bytes: int,
    env: Mapping[str, str] | None = None,
    of_column: bool = False,
    shared: bool = False,
) -> Child:
    """Start a shell line in `workspace`; with `of_column` it has the column's network, not the open stage's.

    `shared`: its result is for other cards too, so it is not told of this one.

    Raises SpawnError, WorkspaceError or StopRequested.
    """
    workspace.begin_services(run.spec.services, run.log.beat_or_stop)
    network = run.network(of_column=of_column)
    return workspace.start(
        ("/bin/sh", "-c", command),
        env={"CI": "1"} | network | ({} if shared else run.spec.facts) | dict(env or {}),
        writable=True,
        cap_bytes=cap_bytes,
        gateway=run.gateway.folder if run.gateway is not None and network else None,
        packages=True,
        services=True,
    )


def note_hosts(run: RunContext) -> None:
    """Record the hosts that the repository's commands asked for; a turn records its own."""
    if run.gateway is not None:
        run.log.append(*take_requested_hosts(run.gateway, run.spec.run_id))


def describe_services(specs: Iterable[ServiceSpec]) -> str:
    """Return the agent's text about them; empty without any."""
    rows = [f"- `{spec.name}`, of the image `{spec.image}`" for spec in specs]
    told = (
        "These services run beside your commands. Reach each by its name as the host, on its usual port. They"
        " are empty when your work begins or resumes, and the checks get their own, which are empty too."
    )
    return "\n".join((told, *rows)) if rows else ""
