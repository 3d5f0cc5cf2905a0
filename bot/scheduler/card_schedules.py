"""Cards by the clock: each due time is recorded once, by whichever host comes first."""

import time

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.reactor import scheduled_cards
from bot.reactor.scheduled_cards import Due
from bot.state import policies, served_boards
from ledger.events.schedule import ScheduleSet
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.views import schedules
from rules.policy.schedule import CardSchedule, next_after

POLL_S = 10  # a tick in that many seconds looks


def make_due_cards(services: Services) -> None:
    """Request the cards that are due; not at every tick."""
    if not int(time.monotonic()) % POLL_S:
        request_due(services)


def request_due(services: Services) -> None:
    """Request the cards that are due. The transaction that finds one due records it: no other host does."""
    with event_store.reading(services.engine) as db:
        late = any(_is_late(services, db, *each) for each in _all(services, db))
        if not late and not _forget_removed(services, db):
            return
    with event_store.writing(services.engine) as db:
        event_store.append(db, *_forget_removed(services, db), at=services.now())
        for board_id, name, schedule in _all(services, db):
            _advance(services, db, board_id, name, schedule)


def _all(services: Services, db: Connection) -> list[tuple[BoardId, str, CardSchedule]]:
    boards = [board.board_id for board in served_boards.all_served(db, services.config) if board.board_id]
    every = ((board_id, policies.in_force(db, board_id).board.schedule) for board_id in boards)
    return [(board_id, name, it) for board_id, named in every for name, it in named.items() if it.on is None]


def _forget_removed(services: Services, db: Connection) -> list[ScheduleSet]:
    """Return the events that forget schedules which the policy has no more: none is made up for later."""
    kept = {(board_id, name) for board_id, name, _ in _all(services, db)}
    boards = [board.board_id for board in served_boards.all_served(db, services.config)]
    known = [board_id for board_id in boards if board_id and policies.is_known(db, board_id)]
    rows = [row for board_id in known for row in schedules.of_board(db, board_id)]
    gone = [row for row in rows if (row.board_id, row.schedule) not in kept]
    return [ScheduleSet(row.board_id, row.schedule, "", services.now()) for row in gone]


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
    next_at = next_after(schedule, row.next_at, now)
    scheduled_cards.request_scheduled_card(db, board_id, name, schedule, Due(row.next_at, next_at), now=now)
