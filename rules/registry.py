"""Parts by file name: a name is looked up in a folder's listing before anything is imported."""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from rules.errors import UnregisteredNameError


@cache
def names(folder: str) -> tuple[str, ...]:
    """Return the names of the parts in the package `folder`, sorted; underscores are kept."""
    package = import_module(folder)
    return tuple(sorted(part.name for part in pkgutil.iter_modules(package.__path__) if part.name[0] != "_"))


@cache
def part(folder: str, name: str) -> ModuleType:
    """Return the part's module; UnregisteredNameError when the folder has no such file."""
    if name not in names(folder):
        raise UnregisteredNameError(folder, name)
    return import_module(f"{folder}.{name}")


def charter(module: ModuleType) -> str:
    """Return the first line of the part's docstring: what it is, for people."""
    return (module.__doc__ or "").strip().split("\n", maxsplit=1)[0]
