"""Pages of the forge, for people with a browser: every module mounts its own on `site.pages`."""

import pkgutil
from importlib import import_module

from flask import Blueprint

from forge.pages.site import pages


def blueprint() -> Blueprint:
    """Return the blueprint with every page; it answers on loopback names only."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return pages
