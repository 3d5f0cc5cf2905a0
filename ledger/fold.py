"""A view's fold: the effect of each event kind on its tables."""

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection

from ledger.event import Event, Recorded

E = TypeVar("E", bound=Event)
Step = Callable[[Connection, Recorded, E], None]


class Fold:
    """A view's `fold(db, recorded)`, made of one step per event kind that matters to it.

    Folding is total: an event about a card or run that was never seen changes nothing, and a step never
    refuses. An event is refused before it is appended, by the view's `check`.
    """

    def __init__(self) -> None:
        self._steps: dict[type[Event], Step[Any]] = {}

    def on(self, kind: type[E]) -> Callable[[Step[E]], Step[E]]:
        """Return a decorator that makes its function the step of `kind`."""

        def register(step: Step[E]) -> Step[E]:
            self._steps[kind] = step
            return step

        return register

    def step(self, kind: type[Event]) -> Step[Any] | None:
        """Return the step of `kind`; None when it matters not to this view."""
        return self._steps.get(kind)

    def __call__(self, db: Connection, recorded: Recorded) -> None:
        step = self._steps.get(type(recorded.event))
        if step is not None:
            step(db, recorded, recorded.event)


def step_of(fold: Callable[[Connection, Recorded], None], kind: type[Event]) -> Step[Any] | None:
    return fold.step(kind) if isinstance(fold, Fold) else lambda db, recorded, _event: fold(db, recorded)
