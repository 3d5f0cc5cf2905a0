"""The repository's own commands: set-up and checks, with the network that the policy grants."""

from collections.abc import Mapping

from runner.exec.child import Child
from runner.gateway.control.claim import requested_hosts
from runner.run.context import RunContext
from runner.workspaces.contract import Workspace


def start_command(
    run: RunContext,
    room: Workspace,
    command: str,
    *,
    cap_bytes: int,
    env: Mapping[str, str] | None = None,
    of_column: bool = False,
) -> Child:
    """Start a shell line in `room`; with `of_column` it is no part of a stage that may be open, and has the
    column's network. Raises SpawnError or WorkspaceError.
    """
    network = run.network(of_column=of_column)
    return room.start(
        ("/bin/sh", "-c", command),
        env={"CI": "1"} | network | dict(env or {}),
        writable=True,
        cap_bytes=cap_bytes,
        gateway=run.gateway.folder if run.gateway is not None and network else None,
    )


def note_hosts(run: RunContext) -> None:
    """Write down which hosts the commands of the repository asked for; a turn hears of its own itself."""
    if run.gateway is not None:
        run.log.append(*requested_hosts(run.gateway, run.order.run_id))
