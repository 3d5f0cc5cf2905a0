"""What people handed over when they completed a card."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, PrimaryKeyConstraint, Table

from ledger.db.rows import columns, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.conversation import HandedOver
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.model.metadata import Metadata


@dataclass(frozen=True, slots=True)
class HandOverRow:
    """The text of a person who completed the card, and metadata for programs."""

    card_id: CardId
    seq: int
    by: str
    at: datetime
    text: str
    metadata: Metadata = field(default_factory=dict, hash=False)


hand_overs = Table("view_hand_overs", VIEWS, *columns(HandOverRow), PrimaryKeyConstraint("card_id", "seq"))
fold = Fold()


def newest(db: Connection, card_id: CardId, limit: int) -> tuple[HandOverRow, ...]:
    """Return the card's newest ones, newest first."""
    return list_rows(db, HandOverRow, hand_overs, "-seq", limit=limit, card_id=card_id)


fold.on(HandedOver)(recorder(hand_overs))
