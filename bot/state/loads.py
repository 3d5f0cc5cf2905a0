"""Use of a board's limits and budgets by its runs, in the shape of the rules about queue and budgets."""

from collections import Counter
from collections.abc import Collection
from datetime import UTC, date, datetime

from sqlalchemy import Connection

from bot.state import policies
from ledger.events.budget import BudgetReserved
from ledger.events.run import CHECK
from ledger.ids import BoardId, CardId, RunId
from ledger.views import budgets, halts, runs, spend
from ledger.views.budgets import BudgetRow
from rules.policy.model import Policy
from rules.runs.budget import BudgetAllocator, Share
from rules.runs.limits_in_use import LimitInUse, limits_in_use
from rules.runs.queue import Load
from rules.text import usd


def list_reservations(db: Connection, board_id: BoardId) -> tuple[Share, ...]:
    return tuple(
        Share(row.run_id, row.card_id, row.column, row.by, row.open_usd)
        for row in budgets.list_reserved(db, board_id)
    )


def wish_usd(row: BudgetRow) -> float:
    """Return the rest of the run's own budget, in dollars."""
    return max(0.0, row.budget_usd - row.spent_usd)


def regrant(
    db: Connection, policy: Policy, run_id: RunId, more_usd: float, now: datetime
) -> BudgetReserved | None:
    """Return the run's grant once its budget is `more_usd` larger; None if the limits have no room."""
    row = budgets.get(db, run_id)
    if row is None:
        return None
    share = Share(run_id, row.card_id, row.column, row.by, wish_usd(row) + more_usd)
    paid = spend.sum_by_limit(db, row.board_id, now.date(), (row.card_id,))
    granted = BudgetAllocator(policy, paid, list_reservations(db, row.board_id)).grant(share)
    return granted if isinstance(granted, BudgetReserved) and granted.usd > row.open_usd else None


def board_load(db: Connection, board_id: BoardId, day: date, card_ids: Collection[CardId] = ()) -> Load:
    """Return the limits in use on `day` of UTC, with the dollars of these cards."""
    held_runs = runs.list_places_held(db, board_id)
    agents = [run for run in held_runs if run.kind != CHECK]
    return Load(
        len(agents),
        Counter(run.repository for run in agents),
        Counter(run.column for run in agents),
        spend.sum_by_limit(db, board_id, day, card_ids),
        list_reservations(db, board_id),
        halt=halts.of_board(db, board_id),
        checks=len(held_runs) - len(agents),
        folders={run.folder: run.run_id for run in agents if run.folder},
    )


def limits(db: Connection, board_id: BoardId, now: datetime) -> tuple[LimitInUse, ...]:
    load = board_load(db, board_id, now.astimezone(UTC).date())
    return limits_in_use(policies.in_force(db, board_id), load)


def figures(limit_in_use: LimitInUse) -> tuple[str, str]:
    """Return the used and the allowed part of a limit, as people read them."""
    if not limit_in_use.dollars:
        return f"{limit_in_use.used:g}", f"{limit_in_use.allowed:g}"
    held = f", {usd(limit_in_use.reserved)} of it reserved" if limit_in_use.reserved else ""
    return f"{usd(limit_in_use.used)}{held}", usd(limit_in_use.allowed)
