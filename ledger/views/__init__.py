"""Tables folded from events, one file each: its table, `fold(db, recorded)`, queries, and `check(db, event)`
if any.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Protocol, cast

from sqlalchemy import Connection

from ledger import codec, view_tables
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
def parts() -> tuple[View, ...]:
    """Return all views in the order of their names; the first call imports them and names their tables."""
    digests()
    return tuple(view for _, view in VIEWS.all())


@cache
def digests() -> Mapping[str, str]:
    """Return the digest of each view's code as it is imported, not as an upgrade puts it there later."""
    code = view_tables.sources()
    modules = {name: VIEWS.load(name) for name in names()}
    named = {f"{__name__}.{name}": cast("ModuleType", module) for name, module in modules.items()}
    return {name.rpartition(".")[2]: digest for name, digest in view_tables.name_tables(code, named).items()}


@cache
def fold_steps(kind: str, only: frozenset[str] | None = None) -> tuple[Step[Any], ...]:
    """Return the steps of the views, or of those named, for events of that kind, in their order."""
    parts()
    folds = (view.fold for name, view in VIEWS.all() if only is None or name in only)
    steps_of_kind = (step_of(fold, codec.kinds()[kind]) for fold in folds)
    return tuple(step for step in steps_of_kind if step is not None)


def fold_all(db: Connection, page: Iterable[Recorded], only: frozenset[str] | None = None) -> None:
    """Fold these events into the views, or into those named."""
    for recorded in page:
        for step in fold_steps(type(recorded.event).__name__, only):
            step(db, recorded, recorded.event)


@cache
def view_checks() -> tuple[Check, ...]:
    return tuple(view.check for view in parts() if view.check)
