"""Workspace backends, one folder each with a `backend.py`; found by folder name."""

import importlib
import pkgutil

from runner.errors import UnknownPartError
from runner.workspaces.contract import Backend


def names() -> tuple[str, ...]:
    """Return the names of all backends."""
    return tuple(sorted(part.name for part in pkgutil.iter_modules(__path__) if part.ispkg))


def load(name: str) -> Backend:
    """Return the backend of that name. Raises UnknownPartError; nothing else is imported for a wrong name."""
    if name not in names():
        raise UnknownPartError("workspace backend", name, names())
    backend: Backend = importlib.import_module(f"{__name__}.{name}.backend").BACKEND
    return backend
