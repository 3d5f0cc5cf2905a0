"""Review threads of a card."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import CardId, RunId


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread on one of the issue's cards; a review is one batch.

    `line` is 0 for a remark about the whole file.
    `answered_by` is the run that addressed it, None while it is open. `answer` is the newest run's reply.
    """

    thread_id: str
    card_id: CardId
    review_id: int
    seq: int
    author: str
    path: str
    line: int
    text: str
    at: datetime
    answered_by: RunId | None
    answer: str = ""
