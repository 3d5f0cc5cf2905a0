"""Cards by the clock: each due time is recorded once, by whichever host comes first."""

import time

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.outbox import handlers
from bot.state import policies, served_boards
from ledger.event import Event
from ledger.events.schedule import ScheduleDue, ScheduleSet
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.views import schedules
from rules.card.schedule import CardSchedule, next_after
from rules.intents.outbound import CreateScheduledCard

LOOK_S = 10  # a tick in that many seconds looks


def make_due_cards(services: Services) -> None:
    """Request the cards that are due; not at every tick."""
    if not int(time.monotonic()) % LOOK_S:
        request_due(services)


def request_due(services: Services) -> None:
    """Request the cards that are due. The transaction that finds one due records it: no other host does."""
    with event_store.reading(services.engine) as db:
        if not any(_is_late(services, db, *each) for each in _all(services, db)):
            return
    with event_store.writing(services.engine) as db:
        for board_id, name, schedule in _all(services, db):
            _advance(services, db, board_id, name, schedule)


def _all(services: Services, db: Connection) -> list[tuple[BoardId, str, CardSchedule]]:
    boards = [board.board_id for board in served_boards.every(db, services.config) if board.board_id]
    every = ((board_id, policies.in_force(db, board_id).board.schedule) for board_id in boards)
    return [(board_id, name, schedule) for board_id, named in every for name, schedule in named.items()]


def _is_late(
    services: Services, db: Connection, board_id: BoardId, name: str, schedule: CardSchedule
) -> bool:
    row = schedules.get(db, board_id, name)
    return row is None or row.timing != schedule.timing or row.next_at <= services.now()


def _advance(
    services: Services, db: Connection, board_id: BoardId, name: str, schedule: CardSchedule
) -> None:
    now, row = services.now(), schedules.get(db, board_id, name)
    if row is None or row.timing != schedule.timing:
        first = next_after(schedule, now, now)
        event_store.append(db, ScheduleSet(board_id, name, schedule.timing, first), at=now)
        return
    if row.next_at > now:
        return
    count = schedules.count_open(db, board_id, name)
    full = count >= schedule.open_cards
    skipped = f"open cards: {count}, and its `open_cards` is {schedule.open_cards}" if full else ""
    due: Event = ScheduleDue(board_id, name, row.next_at, next_after(schedule, row.next_at, now), skipped)
    event_store.append(db, due, at=now)
    if full:
        return
    card = CreateScheduledCard(
        CardId(board_id),
        schedules.key_of(board_id, name, row.next_at),
        name,
        row.next_at,
        schedule.title,
        schedule.body,
        schedule.repository or "",
        schedule.column or "",
        schedule.labels,
    )
    handlers.put(db, card, now)
