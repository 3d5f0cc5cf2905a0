"""Permissions for the agents of a card, given for good: patterns of commands."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, insert, list_rows, value
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.agent import CardToolAllowed, ToolAllowed
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class GrantRow:
    """One permission, and who gave it first. `exact`: that very command, no pattern."""

    card_id: CardId
    pattern: str
    exact: bool
    by: str


grants = Table("view_grants", VIEWS, *columns(GrantRow, "card_id", "pattern", "exact"))
fold = Fold()


def of_card(db: Connection, card_id: CardId, *, exact: bool) -> tuple[str, ...]:
    """Return the commands (`exact`) or the patterns that are allowed for the card."""
    return tuple(
        row.pattern for row in list_rows(db, GrantRow, grants, "pattern", card_id=card_id, exact=exact)
    )


@fold.on(ToolAllowed)
def _fold_tool_allowed(db: Connection, _recorded: Recorded, event: ToolAllowed) -> None:
    card_id = value(db, runs.c.card_id, run_id=event.run_id)
    if card_id is not None:
        _grant(db, card_id, event.pattern, event.by, exact=True)


@fold.on(CardToolAllowed)
def _fold_card_tool_allowed(db: Connection, _recorded: Recorded, event: CardToolAllowed) -> None:
    _grant(db, event.card_id, event.pattern, event.by, exact=False)


def _grant(db: Connection, card_id: CardId, pattern: str, by: str, *, exact: bool) -> None:
    key = {"card_id": card_id, "pattern": pattern, "exact": exact}
    if find(db, GrantRow, grants, **key) is None:
        insert(db, grants, {**key, "by": by})
