"""Cards of the policy's schedules: one time, or one event, makes one card within their limits."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from bot.outbox import handlers
from ledger.events.schedule import ScheduleDue
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.views import schedules
from rules.intents.outbound import CreateScheduledCard
from rules.policy.schedule import CardSchedule


@dataclass(frozen=True, slots=True)
class Due:
    """A time that came, and the next one; or an event of then, whose `cause` ends the card's text."""

    at: datetime
    next_at: datetime
    event: str = ""
    cause: str = ""


def request_scheduled_card(
    db: Connection, board_id: BoardId, name: str, schedule: CardSchedule, due: Due, *, now: datetime
) -> None:
    """Record that a schedule is due, and request its card unless too many are open, or it was recorded."""
    if due.event and schedules.is_recorded(db, board_id, name, due.at, due.event):
        return
    count = schedules.count_open(db, board_id, name, now)
    full = count >= schedule.open_cards
    skipped = f"open cards: {count}, and its `open_cards` is {schedule.open_cards}" if full else ""
    event_store.append(
        db,
        ScheduleDue(
            board_id=board_id,
            schedule=name,
            due_at=due.at,
            next_at=due.next_at,
            skipped=skipped,
            event=due.event,
        ),
        at=now,
    )
    if full:
        return
    card = CreateScheduledCard(
        card_id=CardId(board_id),
        key=schedules.schedule_key(board_id, name, due.at, due.event),
        schedule=name,
        due_at=due.at,
        title=schedule.title,
        body=f"{schedule.body}\n\n{due.cause}".strip(),
        repository=schedule.repository or "",
        column=schedule.column or "",
        labels=schedule.labels,
        event=due.event,
    )
    handlers.put_intent(db, card, now)
