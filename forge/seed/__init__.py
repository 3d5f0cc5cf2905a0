"""Prepared worlds: every module of this folder with a `build` is one, found by its name."""

import pkgutil
from collections.abc import Callable
from importlib import import_module

from forge.errors import NotFoundError
from forge.seed.world import World
from forge.store import Store


def load(store: Store, name: str, *, webhook: str = "", secret: str = "", agent: str = "scripted") -> World:
    """Fill the store with the world called `name`, in which `agent` works on the cards.

    Raises NotFoundError when there is no such world.
    """
    names = {module.name for module in pkgutil.iter_modules(__path__)} - {"world", "shop"}
    if name not in names:
        raise NotFoundError(f"There is no seed called {name}")
    build: Callable[[Store, str], World] = import_module(f"{__name__}.{name}").build
    world = build(store, agent)
    world.app.webhook_url = webhook
    world.app.webhook_secret = secret or world.app.webhook_secret
    if webhook:
        owner = world.project.owner
        store.emit(
            "installation",
            "created",
            world.project.creator,
            None,
            organization=owner,
            installation=world.installation,
        )
    return world
