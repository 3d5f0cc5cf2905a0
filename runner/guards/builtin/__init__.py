"""The guards: one file each, found by its name, which is also its key in the policy."""

import importlib
import pkgutil
from typing import cast

from runner.errors import UnknownPartError
from runner.guards.contract import Guard


def names() -> tuple[str, ...]:
    """Return the names of all guards."""
    return tuple(
        sorted(part.name for part in pkgutil.iter_modules(__path__) if not part.name.startswith("_"))
    )


def load(name: str) -> Guard:
    """Return the guard of that name. Raises UnknownPartError; nothing else is imported for a wrong name."""
    if name not in names():
        raise UnknownPartError("guard", name, names())
    return cast(Guard, importlib.import_module(f"{__name__}.{name}"))
