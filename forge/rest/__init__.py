"""The REST API: every module of this folder is one resource with a `blueprint` of its own."""

import pkgutil
from importlib import import_module

from flask import Blueprint


def blueprints() -> list[Blueprint]:
    """Return the blueprint of every resource in this folder that has one."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return [module.blueprint for module in modules if hasattr(module, "blueprint")]
