"""Whether a card changed that somebody may see."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, false, or_, select

from ledger.log import event_store
from ledger.queries.card_filter import FROM, CardScope, within
from ledger.views.cards import cards

MAX_EVENTS = 2000  # of one look
STREAM = "card:"  # how the names of the streams of cards begin


class CardChange(NamedTuple):
    """What one look found: up to the event `last`; `more` may follow."""

    last: int
    seen: bool
    more: bool


def after(db: Connection, scopes: Sequence[CardScope], seq: int) -> CardChange:
    """Look at the events later than `seq`, as many as one look takes; archived cards count, too."""
    last, streams = event_store.streams_after(db, seq, limit=MAX_EVENTS)
    changed = [name.removeprefix(STREAM) for name in streams if name.startswith(STREAM)]
    visible = or_(false(), *map(within, scopes))
    query = select(cards.c.card_id).select_from(FROM).where(cards.c.card_id.in_(changed), visible)
    return CardChange(last, db.execute(query.limit(1)).first() is not None, last - seq >= MAX_EVENTS)
