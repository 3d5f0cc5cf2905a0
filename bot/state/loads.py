"""Use of a board's limits by its runs, in the shape of the rules about the queue, and of the limits."""

from collections import Counter
from collections.abc import Collection
from datetime import UTC, date, datetime

from sqlalchemy import Connection

from bot.state import budgets, policies
from ledger.events.run import CHECK
from ledger.ids import BoardId, CardId
from ledger.views import halts, runs, spend
from rules.runs.limits_in_use import LimitInUse, limits_in_use
from rules.runs.queue import Load
from rules.text import usd


def board_load(db: Connection, board_id: BoardId, day: date, card_ids: Collection[CardId] = ()) -> Load:
    """Return the limits in use on `day` of UTC, with the dollars of these cards."""
    held = runs.list_held(db, board_id)
    agents = [run for run in held if run.kind != CHECK]
    return Load(
        len(agents),
        Counter(run.repository for run in agents),
        Counter(run.column for run in agents),
        spend.spent_by_limit(db, board_id, day, card_ids),
        budgets.list_reservations(db, board_id),
        halt=halts.of_board(db, board_id),
        checks=len(held) - len(agents),
    )


def limits(db: Connection, board_id: BoardId, now: datetime) -> tuple[LimitInUse, ...]:
    """Return the board's limits with the use of each."""
    load = board_load(db, board_id, now.astimezone(UTC).date())
    return limits_in_use(policies.in_force(db, board_id), load)


def figures(it: LimitInUse) -> tuple[str, str]:
    """Return the used and the allowed part of a limit, as people read them."""
    if not it.dollars:
        return f"{it.used:g}", f"{it.allowed:g}"
    held = f", {usd(it.reserved)} of it reserved" if it.reserved else ""
    return f"{usd(it.used)}{held}", usd(it.allowed)
