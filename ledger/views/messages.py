"""The conversation on a card: people's comments and reviews, and the assistant's answers."""

from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    PrimaryKeyConstraint,
    Table,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)

from ledger.db.column_types import Prose
from ledger.db.rows import all_rows, change, columns, fields_for, keep, pick, record, recorder, value
from ledger.db.statements import Statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.conversation import AssistantReplied, CommentChanged, CommentReleased, PersonSaid
from ledger.events.pull import ReviewDismissed, ReviewRequested, ReviewSubmitted
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.rows.messages import MessageRow

ASSISTANT = "assistant"  # the place of what Cardinal's assistant said
COMMENTS = ("issue", "pull", "review")
# The places of the words of reviews, by their verdict; of these `comment_id` is the review.
VERDICTS = ("changes_requested", "approved", "commented")
REQUESTED = "review_requested"  # the place of being asked for a review
REVIEWS = (*VERDICTS, REQUESTED)
MAX_HELD = 20  # held messages that a command can choose from


messages = Table(
    "view_messages",
    VIEWS,
    *columns(MessageRow),
    PrimaryKeyConstraint("card_id", "seq"),
    sqlite_with_rowid=False,  # a card's messages stand together: each costs one page to write, not three
)
# Changes of comments, known or not: an edit may arrive before its comment.
changes = Table(
    "view_message_changes",
    VIEWS,
    Column("card_id", Prose, primary_key=True),
    Column("place", Prose, primary_key=True),  # review, verdict, or issue for all others
    Column("comment_id", BigInteger, primary_key=True, autoincrement=False),
    Column("how", Prose, nullable=False),
)
fold = Fold()
DELETED = "deleted"
_KNOWN = (changes.c.card_id == bindparam("card_id")) & (changes.c.comment_id == bindparam("comment_id"))
_HOW = select(changes.c.how).where(_KNOWN, changes.c.place == bindparam("counted")).scalar_subquery()
_SAID = Statement(
    messages.insert().values(
        {it.name: bindparam(it.name, type_=it.type) for it in messages.c}
        | {"changed": func.coalesce(_HOW, literal_column("''"))}
    )
)


def newest(
    db: Connection, card_id: CardId, limit: int, places: tuple[str, ...] = (*COMMENTS, *REVIEWS, ASSISTANT)
) -> tuple[MessageRow, ...]:
    """Return the card's newest messages, the oldest of them first, without those that were deleted."""
    return all_rows(db, MessageRow, _newest(places), card_id=card_id, most=limit)[::-1]


@cache
def _newest(places: tuple[str, ...]) -> Statement:
    condition = (messages.c.card_id == bindparam("card_id")) & or_(*(messages.c.place == it for it in places))
    query = pick(MessageRow, messages).where(condition, messages.c.changed != DELETED)
    return Statement(query.order_by(messages.c.seq.desc()).limit(bindparam("most")))


def knows(db: Connection, card_id: CardId, place: str, comment_id: int) -> bool:
    """Tell whether the comment was recorded, so that two deliveries of it are one event.

    Comments of issues and of pull requests are counted together by GitHub, those on lines and reviews apart.
    """
    return value(db, messages.c.seq, **_comment(card_id, place, comment_id)) is not None


def list_held_messages(db: Connection, card_id: CardId, *, vouched: bool = False) -> tuple[MessageRow, ...]:
    """Return the newest comments and reviews by people without write access, the oldest first: those that
    wait, or those that somebody let through (`vouched`).
    """
    return all_rows(db, MessageRow, _select_held(vouched), card_id=card_id, most=MAX_HELD)[::-1]


@cache
def _select_held(vouched: bool) -> Statement:
    theirs = (messages.c.card_id == bindparam("card_id")) & ~messages.c.trusted
    theirs &= (messages.c.vouched_by != "") if vouched else (messages.c.vouched_by == "")
    theirs &= or_(*(messages.c.place == it for it in (*COMMENTS, *VERDICTS)))
    query = pick(MessageRow, messages).where(theirs, messages.c.changed != DELETED)
    return Statement(query.order_by(messages.c.seq.desc()).limit(bindparam("most")))


def find_change(db: Connection, card_id: CardId, place: str, comment_id: int) -> str:
    """Return `edited` or `deleted` where that is known of the comment, else an empty string."""
    return value(db, changes.c.how, **_key_of_comment(card_id, place, comment_id)) or ""


def _comment(card_id: CardId, place: str, comment_id: int) -> dict[str, Any]:
    places = {"review": ("review",), "verdict": VERDICTS, "issue": ("issue", "pull")}[_group_of_place(place)]
    return {"card_id": card_id, "comment_id": comment_id, "place": places}


def _key_of_comment(card_id: CardId, place: str, comment_id: int) -> dict[str, Any]:
    return {"card_id": card_id, "place": _group_of_place(place), "comment_id": comment_id}


def _group_of_place(place: str) -> str:
    """Return the group of places whose comments GitHub counts together."""
    if place in VERDICTS:
        return "verdict"
    return place if place == "review" else "issue"


@fold.on(PersonSaid)
def _fold_person_said(db: Connection, recorded: Recorded, event: PersonSaid) -> None:
    given = {**fields_for(messages, event), "seq": recorded.seq, "at": recorded.at, "vouched_by": ""}
    _SAID.run(db, {**given, "counted": _group_of_place(event.place)})


fold.on(AssistantReplied)(recorder(messages, place=ASSISTANT, trusted=True))


@fold.on(ReviewSubmitted)
def _fold_review_submitted(db: Connection, recorded: Recorded, event: ReviewSubmitted) -> None:
    if event.body.strip():
        record(db, messages, recorded, comment_id=event.review_id, place=event.verdict, text=event.body)


@fold.on(ReviewDismissed)
def _fold_review_dismissed(db: Connection, _recorded: Recorded, event: ReviewDismissed) -> None:
    change(db, messages, _comment(event.card_id, VERDICTS[0], event.review_id), changed="dismissed")


@fold.on(ReviewRequested)
def _fold_review_requested(db: Connection, recorded: Recorded, event: ReviewRequested) -> None:
    record(db, messages, recorded, place=REQUESTED, author=event.by, text=event.reviewer)


@fold.on(CommentReleased)
def _fold_comment_released(db: Connection, _recorded: Recorded, event: CommentReleased) -> None:
    change(db, messages, _comment(event.card_id, event.place, event.comment_id), vouched_by=event.by)


@fold.on(CommentChanged)
def _fold_comment_changed(db: Connection, _recorded: Recorded, event: CommentChanged) -> None:
    keep(db, changes, _key_of_comment(event.card_id, event.place, event.comment_id), {"how": event.how})
    change(db, messages, _comment(event.card_id, event.place, event.comment_id), changed=event.how)
