"""The messages of the conversation on a card."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message. `place`: as in `ledger/views/messages.py`; `comment_id` is 0 and `author` empty for
    the assistant. `vouched_by` let it through, with write access, where its author has none; `changed`:
    edited, deleted or dismissed since, or empty. A `command` is no conversation.
    """

    seq: int
    card_id: CardId
    place: str
    trusted: bool
    text: str
    at: datetime
    comment_id: int = 0
    author: str = ""
    vouched_by: str = ""
    changed: str = ""
    command: bool = False
