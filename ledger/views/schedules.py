"""The policy's schedules: when each is due next, and the cards that it made."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Table, func, select

from ledger.db.rows import change, columns, find, insert, keep, list_rows, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.publication import EntryGivenUp
from ledger.events.schedule import ScheduledCardMade, ScheduleDue, ScheduleSet
from ledger.fold import Fold
from ledger.ids import BoardId
from ledger.states import CardState
from ledger.views.cards import cards

CLOSED = (CardState.DONE, CardState.ARCHIVED)
UNREAD = timedelta(days=1)  # until a card that was made has been read


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as it is set: `timing` is that of the policy, `next_at` its next time."""

    board_id: BoardId
    schedule: str
    timing: str
    next_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduledCardRow:
    """A card of a schedule; `number` is 0 before its issue is made, and -1 when that was given up."""

    board_id: BoardId
    schedule: str
    due_at: datetime
    event: str = ""
    repository: str = ""
    number: int = 0


schedules = Table("view_schedules", VIEWS, *columns(ScheduleRow, "board_id", "schedule"))
MADE_KEY = ("board_id", "schedule", "due_at", "event")
made = Table("view_scheduled_cards", VIEWS, *columns(ScheduledCardRow, *MADE_KEY))
fold = Fold()


def get(db: Connection, board_id: BoardId, schedule: str) -> ScheduleRow | None:
    """Return the schedule; None before its first time was set."""
    return find(db, ScheduleRow, schedules, board_id=board_id, schedule=schedule)


def of_board(db: Connection, board_id: BoardId) -> tuple[ScheduleRow, ...]:
    """Return the board's schedules that are set; a removed one has no timing."""
    rows = list_rows(db, ScheduleRow, schedules, "schedule", board_id=board_id)
    return tuple(row for row in rows if row.timing)


def count_open(db: Connection, board_id: BoardId, schedule: str, now: datetime) -> int:
    """Return how many cards of the schedule are neither done nor off the board; those to come count.

    One that no card is known of was transferred or deleted, unless it is so new that nobody has read it yet.
    """
    there = (cards.c.board_id == made.c.board_id) & (cards.c.repository == made.c.repository)
    joined = made.outerjoin(cards, there & (cards.c.number == made.c.number))
    is_open = cards.c.state.not_in(CLOSED) & (cards.c.closed == "")
    unread = cards.c.card_id.is_(None) & (made.c.due_at > now - UNREAD)
    query = select(made.c.due_at, made.c.event).distinct().select_from(joined)
    query = query.where(made.c.board_id == board_id, made.c.schedule == schedule)
    each = query.where((made.c.number == 0) | ((made.c.number > 0) & (is_open | unread))).subquery()
    return db.scalar(select(func.count()).select_from(each)) or 0


def is_recorded(db: Connection, board_id: BoardId, schedule: str, due_at: datetime, event: str) -> bool:
    """Tell whether the event of that time has made a card of the schedule, or will."""
    key = dict(zip(MADE_KEY, (board_id, schedule, due_at, event), strict=True))
    return find(db, ScheduledCardRow, made, **key) is not None


def is_made(db: Connection, board_id: BoardId, repository: str, number: int) -> bool:
    """Tell whether a schedule of the board made the issue."""
    return (
        find(db, ScheduledCardRow, made, board_id=board_id, repository=repository, number=number) is not None
    )


def schedule_key(board_id: BoardId, schedule: str, due_at: datetime, event: str = "") -> str:
    """Return the key of the outbox's entry that makes the card."""
    return ":".join(filter(None, ("scheduled", board_id, schedule, f"{due_at:%Y%m%dT%H%M%S}", event)))


@fold.on(ScheduleSet)
def _fold_schedule_set(db: Connection, _recorded: Recorded, event: ScheduleSet) -> None:
    key = {"board_id": event.board_id, "schedule": event.schedule}
    keep(db, schedules, key, {"timing": event.timing, "next_at": event.next_at})


@fold.on(ScheduleDue)
def _fold_schedule_due(db: Connection, _recorded: Recorded, event: ScheduleDue) -> None:
    key = {"board_id": event.board_id, "schedule": event.schedule}
    change(db, schedules, key, next_at=event.next_at)
    card = {**key, "due_at": event.due_at, "event": event.event}
    if not event.skipped and find(db, ScheduledCardRow, made, **card) is None:
        insert(db, made, {**card, "repository": "", "number": 0})


@fold.on(ScheduledCardMade)
def _fold_scheduled_card_made(db: Connection, _recorded: Recorded, event: ScheduledCardMade) -> None:
    key = {name: getattr(event, name) for name in MADE_KEY}
    change(db, made, key, repository=event.repository, number=event.number)


fold.on(RepositoryMoved)(setter(made, lambda e: {"repository": e.after}, "board_id", repository="before"))


@fold.on(EntryGivenUp)
def _fold_entry_given_up(db: Connection, _recorded: Recorded, event: EntryGivenUp) -> None:
    """Let a card that could not be made hold up no later one. A board's entry has the board's id."""
    if event.act != "create_scheduled_card":
        return
    board_id = BoardId(event.card_id)
    for row in list_rows(db, ScheduledCardRow, made, board_id=board_id, number=0):
        if schedule_key(board_id, row.schedule, row.due_at, row.event) == event.key:
            change(db, made, {name: getattr(row, name) for name in MADE_KEY}, number=-1)
