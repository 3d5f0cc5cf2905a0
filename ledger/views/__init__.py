"""Tables folded from events, one file each: its table, `fold(db, recorded)`, queries, and `check(db, event)`
if any.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Protocol, cast

from sqlalchemy import Connection

from ledger.event import Event, Recorded


class View(Protocol):
    """What a file in this folder offers."""

    def fold(self, db: Connection, recorded: Recorded, /) -> None:
        """Bring the view's tables up to date with one event."""


Check = Callable[[Connection, Event], None]


@cache
def names() -> tuple[str, ...]:
    """Return the views' names in the order in which they fold."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


@cache
def digest() -> str:
    """Return the SHA-256 of the views' sources; another one in the ledger: other code folded it."""
    found = sha256()
    for name in names():
        source = pkgutil.get_data(__name__, f"{name}.py")
        found.update(name.encode() + b"\0" + (source or b"") + b"\0")
    return found.hexdigest()


@cache
def parts() -> tuple[View, ...]:
    """Return all views in the order of their names; the first call imports them."""
    digest()  # of the sources that are imported now, not of those that an upgrade puts there later
    return tuple(cast("View", importlib.import_module(f"{__name__}.{name}")) for name in names())


@cache
def guards() -> tuple[Check, ...]:
    """Return the checks that may refuse an event before it is appended; a replay never asks them."""
    return tuple(cast("Check", part.check) for part in parts() if hasattr(part, "check"))
