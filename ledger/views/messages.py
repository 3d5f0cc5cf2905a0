"""The conversation on a card: what people said, also in reviews, and what the assistant answered."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Index, Table, func, select

from ledger.db.column_types import Prose
from ledger.db.rows import columns, keep, many, pick, where
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.conversation import AssistantReplied, CommentChanged, CommentReleased, PersonSaid
from ledger.events.pull import ReviewDismissed, ReviewRequested, ReviewSubmitted
from ledger.fold import Fold
from ledger.ids import CardId

ASSISTANT = "assistant"  # the place of what Cardinal's assistant said
COMMENTS = ("issue", "pull", "review")
# The places of the words of reviews, by their verdict; of these `comment_id` is the review.
VERDICTS = ("changes_requested", "approved", "commented")
REQUESTED = "review_requested"  # the place of being asked for a review
REVIEWS = (*VERDICTS, REQUESTED)


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message. `place`: one of COMMENTS or REVIEWS, or assistant; `comment_id` is 0 and `author` empty for
    the assistant. `vouched_by` let it through, with write access, where its author has none; `changed`:
    edited, deleted or dismissed since, or empty. A `command` is no conversation.
    """

    seq: int
    card_id: CardId
    comment_id: int
    place: str
    author: str
    trusted: bool
    text: str
    at: datetime
    vouched_by: str
    changed: str
    command: bool


messages = Table(
    "view_messages", VIEWS, *columns(MessageRow, "seq"), Index("view_messages_card", "card_id", "seq")
)
# What changed, known or not: the edit may be heard of before the comment.
changes = Table(
    "view_message_changes",
    VIEWS,
    Column("card_id", Prose, primary_key=True),
    Column("place", Prose, primary_key=True),  # review, verdict, or issue for all others
    Column("comment_id", BigInteger, primary_key=True, autoincrement=False),
    Column("how", Prose, nullable=False),
)
fold = Fold()
_PLAIN = {"vouched_by": "", "changed": "", "command": False}
DELETED = "deleted"


def newest(
    db: Connection, card_id: CardId, limit: int, places: tuple[str, ...] = (*COMMENTS, *REVIEWS, ASSISTANT)
) -> tuple[MessageRow, ...]:
    """Return the card's newest messages, the oldest of them first, without those that were deleted."""
    mine = (messages.c.card_id == card_id) & messages.c.place.in_(places)
    query = pick(MessageRow, messages).where(mine, messages.c.changed != DELETED)
    return many(db, MessageRow, query.order_by(messages.c.seq.desc()).limit(limit))[::-1]


def knows(db: Connection, card_id: CardId, place: str, comment_id: int) -> bool:
    """Tell whether the comment was recorded, so that hearing of it twice is one event.

    Comments of issues and of pull requests are counted together by GitHub, those on lines and reviews apart.
    """
    mine = _comment(card_id, place, comment_id)
    return db.scalar(select(messages.c.seq).where(mine).limit(1)) is not None


def held(db: Connection, card_id: CardId, limit: int, *, vouched: bool = False) -> tuple[MessageRow, ...]:
    """Return the newest comments and words of reviews by people without write access that nobody let through,
    or those that somebody did (`vouched`), oldest first.
    """
    theirs = (messages.c.card_id == card_id) & ~messages.c.trusted
    theirs &= (messages.c.vouched_by != "") if vouched else (messages.c.vouched_by == "")
    comments = messages.c.place.in_((*COMMENTS, *VERDICTS)) & (messages.c.changed != DELETED)
    query = pick(MessageRow, messages).where(theirs, comments)
    return many(db, MessageRow, query.order_by(messages.c.seq.desc()).limit(limit))[::-1]


def has_changed(db: Connection, card_id: CardId, place: str, comment_id: int) -> str:
    """Return `edited` or `deleted` where that is known of the comment, else an empty string."""
    return db.scalar(select(changes.c.how).where(where(changes, _changed(card_id, place, comment_id)))) or ""


def _comment(card_id: CardId, place: str, comment_id: int) -> ColumnElement[bool]:
    places = {"review": ("review",), "verdict": VERDICTS, "issue": ("issue", "pull")}[_counted(place)]
    mine = (messages.c.card_id == card_id) & (messages.c.comment_id == comment_id)
    return mine & messages.c.place.in_(places)


def _changed(card_id: CardId, place: str, comment_id: int) -> dict[str, object]:
    return {"card_id": card_id, "place": _counted(place), "comment_id": comment_id}


def _counted(place: str) -> str:
    """Return with which others GitHub counts what was said there."""
    if place in VERDICTS:
        return "verdict"
    return place if place == "review" else "issue"


def count(db: Connection, card_id: CardId) -> int:
    """Return how many messages the card has."""
    return db.scalar(select(func.count()).where(messages.c.card_id == card_id)) or 0


@fold.on(PersonSaid)
def _said(db: Connection, it: Recorded, event: PersonSaid) -> None:
    names = ("card_id", "comment_id", "place", "author", "trusted", "text", "command")
    said = {name: getattr(event, name) for name in names}
    changed = has_changed(db, event.card_id, event.place, event.comment_id)
    db.execute(messages.insert().values(seq=it.seq, at=it.at, vouched_by="", changed=changed, **said))


@fold.on(AssistantReplied)
def _replied(db: Connection, it: Recorded, event: AssistantReplied) -> None:
    said = {"card_id": event.card_id, "comment_id": 0, "place": ASSISTANT, "author": "", "text": event.text}
    db.execute(messages.insert().values(seq=it.seq, at=it.at, trusted=True, **said, **_PLAIN))


@fold.on(ReviewSubmitted)
def _reviewed(db: Connection, it: Recorded, event: ReviewSubmitted) -> None:
    if not event.body.strip():
        return
    said = {"card_id": event.card_id, "comment_id": event.review_id, "place": event.verdict}
    words = {"author": event.author, "trusted": event.trusted, "text": event.body}
    db.execute(messages.insert().values(seq=it.seq, at=it.at, **said, **words, **_PLAIN))


@fold.on(ReviewDismissed)
def _dismissed(db: Connection, _it: Recorded, event: ReviewDismissed) -> None:
    mine = (messages.c.card_id == event.card_id) & (messages.c.comment_id == event.review_id)
    ours = messages.update().where(mine, messages.c.place.in_(VERDICTS))
    db.execute(ours.values(changed="dismissed"))


@fold.on(ReviewRequested)
def _requested(db: Connection, it: Recorded, event: ReviewRequested) -> None:
    said = {"card_id": event.card_id, "comment_id": 0, "place": REQUESTED, "author": event.by}
    words = {"trusted": event.trusted, "text": event.reviewer}
    db.execute(messages.insert().values(seq=it.seq, at=it.at, **said, **words, **_PLAIN))


@fold.on(CommentReleased)
def _released(db: Connection, _it: Recorded, event: CommentReleased) -> None:
    mine = _comment(event.card_id, event.place, event.comment_id)
    db.execute(messages.update().where(mine).values(vouched_by=event.by))


@fold.on(CommentChanged)
def _was_changed(db: Connection, _it: Recorded, event: CommentChanged) -> None:
    keep(db, changes, _changed(event.card_id, event.place, event.comment_id), {"how": event.how})
    mine = _comment(event.card_id, event.place, event.comment_id)
    db.execute(messages.update().where(mine).values(changed=event.how))
