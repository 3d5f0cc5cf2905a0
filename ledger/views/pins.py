"""Which skills people chose for a card."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
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
    """Return the names that were chosen for the card, none where nobody chose any."""
    found = one(db, PinRow, pick(PinRow, pins).where(pins.c.card_id == card_id))
    return found.names if found else ()


@fold.on(SkillsPinned)
def _pinned(db: Connection, _it: Recorded, event: SkillsPinned) -> None:
    keep(db, pins, {"card_id": event.card_id}, {"names": event.names, "by": event.by})
