"""Cards of the policy's schedules: one time, or one failed workflow, makes one card within their limits."""

from datetime import datetime

from sqlalchemy import Connection

from bot.outbox import handlers
from ledger.events.schedule import ScheduleDue
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.views import schedules
from rules.intents.outbound import CreateScheduledCard
from rules.policy.schedule import CardSchedule


def request(
    db: Connection,
    board_id: BoardId,
    name: str,
    schedule: CardSchedule,
    *,
    due_at: datetime,
    next_at: datetime,
    now: datetime,
    cause: str = "",
) -> None:
    """Record that a schedule is due, and request its card unless too many are open.

    `cause` ends the card's text.
    """
    count = schedules.count_open(db, board_id, name, now)
    full = count >= schedule.open_cards
    skipped = f"open cards: {count}, and its `open_cards` is {schedule.open_cards}" if full else ""
    event_store.append(db, ScheduleDue(board_id, name, due_at, next_at, skipped), at=now)
    if full:
        return
    card = CreateScheduledCard(
        CardId(board_id),
        schedules.key_of(board_id, name, due_at),
        name,
        due_at,
        schedule.title,
        f"{schedule.body}\n\n{cause}".strip(),
        schedule.repository or "",
        schedule.column or "",
        schedule.labels,
    )
    handlers.put(db, card, now)
