"""Every known review, and the verdict that follows from the standing ones."""

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, Column, Connection, Table

from ledger.db.column_types import Moment, Prose
from ledger.db.rows import change, drop, keep, record, value, values
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardEvent
from ledger.events.branch import BranchRebased, RunChosen
from ledger.events.pull import ReviewDismissed, ReviewSubmitted
from ledger.fold import Fold
from ledger.ids import CardId
from ledger.views.cards import cards

# The verdict that each trusted person's newest standing review gives.
verdicts = Table(
    "view_card_verdicts",
    VIEWS,
    Column("card_id", Prose, primary_key=True),
    Column("author", Prose, primary_key=True),
    Column("review_id", BigInteger, nullable=False),
    Column("verdict", Prose, nullable=False),
    Column("head", Prose, nullable=False),
    Column("at", Moment, nullable=False),
)
# Every review of anybody. Deliveries come in any order: a dismissal may arrive before its review.
reviews = Table(
    "view_card_reviews",
    VIEWS,
    Column("card_id", Prose, primary_key=True),
    Column("review_id", BigInteger, primary_key=True),
    Column("heard", Boolean, nullable=False, default=False),
    Column("dismissed", Boolean, nullable=False, default=False),
)
fold = Fold()


def knows_review(db: Connection, card_id: CardId, review_id: int) -> bool:
    """Tell whether the review was recorded, so that two deliveries of it are one event."""
    return bool(value(db, reviews.c.heard, card_id=card_id, review_id=review_id))


def changes_requested_at(db: Connection, card_id: CardId) -> datetime | None:
    """Return the time of the newest standing review that requests changes; None without one."""
    at: datetime | None = value(db, verdicts.c.at, "-at", card_id=card_id, verdict="changes_requested")
    return at


def change_requesters(db: Connection, card_id: CardId) -> tuple[str, ...]:
    """Return who requested changes and has not reviewed again since."""
    return values(db, verdicts.c.author, "review_id", card_id=card_id, verdict="changes_requested")


def approvers(db: Connection, card_id: CardId, head: str) -> tuple[str, ...]:
    """Return who has approved that commit, and has not requested changes since."""
    return values(db, verdicts.c.author, "review_id", card_id=card_id, verdict="approved", head=head)


@fold.on(ReviewSubmitted)
def _fold_review_submitted(db: Connection, recorded: Recorded, event: ReviewSubmitted) -> None:
    review = {"card_id": event.card_id, "review_id": event.review_id}
    keep(db, reviews, review, {"heard": True})
    if not event.trusted or event.verdict not in ("approved", "changes_requested"):
        return
    key = {"card_id": event.card_id, "author": event.author}
    newest = value(db, verdicts.c.review_id, **key) or 0
    if event.review_id > newest:  # deliveries come in any order; reviews are counted up
        if value(db, reviews.c.dismissed, **review):
            drop(db, verdicts, **key)
        else:
            record(db, verdicts, recorded)
        _judge(db, event)


@fold.on(ReviewDismissed)
def _fold_review_dismissed(db: Connection, _recorded: Recorded, event: ReviewDismissed) -> None:
    review = {"card_id": event.card_id, "review_id": event.review_id}
    keep(db, reviews, review, {"dismissed": True})
    drop(db, verdicts, **review)
    _judge(db, event)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    drop(db, verdicts, card_id=event.card_id)  # they are about another change


@fold.on(BranchRebased)
def _fold_branch_rebased(db: Connection, _recorded: Recorded, event: BranchRebased) -> None:
    """Let approvals of the same change count for the commit that it is now."""
    if event.same:
        change(db, verdicts, {"card_id": event.card_id, "head": event.before}, head=event.after)
        _judge(db, event)


def _judge(db: Connection, event: CardEvent | BranchRebased) -> None:
    """Set the verdict as GitHub does: one person who requests changes outweighs all who approve."""
    standing = set(values(db, verdicts.c.verdict, card_id=event.card_id))
    worst = next((verdict for verdict in ("changes_requested", "approved") if verdict in standing), "none")
    approved = value(db, verdicts.c.head, "-review_id", card_id=event.card_id, verdict="approved") or ""
    change(db, cards, {"card_id": event.card_id}, verdict=worst, approved_head=approved)
