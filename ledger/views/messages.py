"""The conversation on a card: what people said and what the assistant answered."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Index, Table, func, select

from ledger.event import Recorded
from ledger.events.conversation import AssistantReplied, PersonSaid
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows import columns, many, pick
from ledger.tables import VIEWS

ASSISTANT = "assistant"  # the place of what Cardinal's assistant said


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message. `place`: issue, pull, review or assistant; `comment_id` is 0 and `author` empty for the
    assistant.
    """

    seq: int
    card_id: CardId
    comment_id: int
    place: str
    author: str
    trusted: bool
    text: str
    at: datetime


messages = Table(
    "view_messages", VIEWS, *columns(MessageRow, "seq"), Index("view_messages_card", "card_id", "seq")
)
fold = Fold()


def newest(db: Connection, card_id: CardId, limit: int) -> tuple[MessageRow, ...]:
    """Return the card's newest messages, the oldest of them first."""
    query = pick(MessageRow, messages).where(messages.c.card_id == card_id)
    return many(db, MessageRow, query.order_by(messages.c.seq.desc()).limit(limit))[::-1]


def knows(db: Connection, card_id: CardId, place: str, comment_id: int) -> bool:
    """Tell whether the comment was recorded, so that hearing of it twice is one event.

    Comments of issues and of pull requests are counted together by GitHub, those of reviews apart.
    """
    kind = messages.c.place == "review" if place == "review" else messages.c.place.in_(("issue", "pull"))
    mine = (messages.c.card_id == card_id) & (messages.c.comment_id == comment_id) & kind
    return db.scalar(select(messages.c.seq).where(mine).limit(1)) is not None


def count(db: Connection, card_id: CardId) -> int:
    """Return how many messages the card has."""
    return db.scalar(select(func.count()).where(messages.c.card_id == card_id)) or 0


@fold.on(PersonSaid)
def _said(db: Connection, it: Recorded, event: PersonSaid) -> None:
    names = ("card_id", "comment_id", "place", "author", "trusted", "text")
    said = {name: getattr(event, name) for name in names}
    db.execute(messages.insert().values(seq=it.seq, at=it.at, **said))


@fold.on(AssistantReplied)
def _replied(db: Connection, it: Recorded, event: AssistantReplied) -> None:
    said = {"card_id": event.card_id, "comment_id": 0, "place": ASSISTANT, "author": "", "trusted": True}
    db.execute(messages.insert().values(seq=it.seq, at=it.at, text=event.text, **said))
