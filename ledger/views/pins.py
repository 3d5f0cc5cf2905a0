"""The skills that people chose for a card."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, recorder
from ledger.db.tables import VIEWS
from ledger.events.instruction import SkillsPinned
from ledger.fold import Fold
from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class PinRow:
    """The skills that somebody chose last for the card."""

    card_id: CardId
    names: tuple[str, ...]
    by: str


pins = Table("view_pins", VIEWS, *columns(PinRow, "card_id"))
fold = Fold()


def of_card(db: Connection, card_id: CardId) -> tuple[str, ...]:
    """Return the names that were chosen for the card."""
    row = find(db, PinRow, pins, card_id=card_id)
    return row.names if row else ()


fold.on(SkillsPinned)(recorder(pins))
