"""Workspace backends, a file each in `backends/`; found by file name."""

from ledger.parts import Registry
from runner.agents.contract import AgentAdapter
from runner.errors import BackendError
from runner.workspaces.contract import Backend

BACKENDS = Registry[Backend]("workspace backend", "runner.workspaces.backends", Backend, holds="BACKEND")
names, load = BACKENDS.names, BACKENDS.load


def backends_of(agent: AgentAdapter) -> tuple[str, ...]:
    return tuple(name for name, backend in BACKENDS.all() if backend.runs_images or not agent.in_image)


def require_program(agent: AgentAdapter, name: str) -> None:
    """Raise BackendError where the backend does not have the agent's program."""
    if name not in backends_of(agent):
        raise BackendError(agent.name, name, backends_of(agent))


def first_usable() -> str:
    """Return the backend of the lowest rank that this machine can use."""
    usable = ((backend.rank, name) for name, backend in BACKENDS.all() if not backend.problem())
    return min(usable)[1]
