"""The checks of a card's pull request on GitHub."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class CiRow:
    """The checks of the commit `head`, awaited since `since` unless `settled`; `pending` is empty before the
    first look.

    `repaired` is the commit for which the newest repair was queued, `repairs` counts repairs in a row.
    """

    card_id: CardId
    head: str
    since: datetime
    settled: bool
    pending: tuple[str, ...]
    repaired: str = ""
    repairs: int = 0
