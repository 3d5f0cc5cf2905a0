"""The REST API: every module of this folder is one resource with a `blueprint` of its own."""

import pkgutil
from importlib import import_module

from flask import Blueprint


def blueprints() -> list[Blueprint]:
    """Return the blueprint of every resource in this folder that has one."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        made = getattr(import_module(f"{__name__}.{module.name}"), "blueprint", None)
        if isinstance(made, Blueprint):
            found.append(made)
    return found
