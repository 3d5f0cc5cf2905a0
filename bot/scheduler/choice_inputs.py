"""Events that can change the choice of dispatch; after all others its last answer stands."""

from functools import cache

from sqlalchemy import Connection

from ledger import codec
from ledger.fold import step_of
from ledger.log import event_store
from ledger.views import (
    boards,
    budgets,
    cards,
    changed_files,
    halts,
    links,
    losses,
    policies,
    questions,
    runs,
    spend,
    stops,
    workspaces,
)

# The views that the choice, and the record of its reasons, are read from.
SOURCES = (
    *(boards, budgets, cards, changed_files, halts, links, losses, policies, questions, runs, spend, stops),
    workspaces,
)
MAX_EVENTS = 500  # after more of them, to choose anew costs no more than to read what they are


def choice_changed(db: Connection, *, after: int) -> bool:
    """Tell whether an event later than `after` can change the choice."""
    kinds = event_store.kinds_after(db, after, limit=MAX_EVENTS)
    return len(kinds) == MAX_EVENTS or any(map(matters, set(kinds)))


@cache
def matters(name: str) -> bool:
    """Tell whether events of the kind of that name can change the choice; those of newer code may."""
    kind = codec.kinds().get(name)
    if kind is None:
        return True
    return kind.affects_dispatch and any(step_of(view.fold, kind) is not None for view in SOURCES)
