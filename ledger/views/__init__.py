"""Tables folded from events, one file each: its table, `fold(db, recorded)`, queries, and `check(db, event)`
if any.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any, Protocol

from sqlalchemy import Connection

from ledger.event import Event, Recorded
from ledger.fold import Step, step_of
from ledger.parts import Registry

Check = Callable[[Connection, Event], None]


class View(Protocol):
    """A file of this folder. `check` may refuse an event before it is appended; a replay never asks it."""

    check: Check | None = None

    def fold(self, db: Connection, recorded: Recorded, /) -> None:
        """Bring the view's tables up to date with one event."""


VIEWS = Registry[View]("view", __name__, View)
names = VIEWS.names  # in the order in which they fold


@cache
def digest() -> str:
    """Return the SHA-256 of the views' sources; another one in the ledger: other code folded it."""
    hasher = sha256()
    for name in names():
        source = pkgutil.get_data(__name__, f"{name}.py")
        hasher.update(name.encode() + b"\0" + (source or b"") + b"\0")
    return hasher.hexdigest()


@cache
def parts() -> tuple[View, ...]:
    """Return all views in the order of their names; the first call imports them."""
    digest()  # of the sources that are imported now, not of those that an upgrade puts there later
    return tuple(view for _, view in VIEWS.all())


@cache
def steps(kind: type[Event]) -> tuple[Step[Any], ...]:
    """Return what the views do with events of that kind, in the order in which they fold."""
    folds = (view.fold for view in parts())
    return tuple(step for fold in folds if (step := step_of(fold, kind)) is not None)


@cache
def guards() -> tuple[Check, ...]:
    """Return the checks of all views."""
    return tuple(view.check for view in parts() if view.check)
