"""Agents, one folder each with an `adapter.py`; found by folder name."""

import importlib
import pkgutil

from runner.agents.contract import Agent
from runner.errors import UnknownPartError

_REMEDY = "change `agent:` of the column in .github/cardinal.yml, then retry"


def names() -> tuple[str, ...]:
    """Return the names of all agents."""
    return tuple(sorted(part.name for part in pkgutil.iter_modules(__path__) if part.ispkg))


def load(name: str) -> Agent:
    """Return the agent of that name. Raises UnknownPartError; nothing is imported for a name not in the
    folder.
    """
    if name not in names():
        raise UnknownPartError("agent", name, names(), _REMEDY)
    agent: Agent = importlib.import_module(f"{__name__}.{name}.adapter").AGENT
    return agent
