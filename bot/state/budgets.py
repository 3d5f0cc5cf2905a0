"""Spent and reserved dollars of runs, in the shape of the rules about budgets."""

from datetime import datetime

from sqlalchemy import Connection

from ledger.events.budget import BudgetReserved
from ledger.ids import BoardId, RunId
from ledger.views import budgets, spend
from ledger.views.budgets import BudgetRow
from rules.policy.model import Policy
from rules.runs.budget import BudgetAllocator, Share


def list_reservations(db: Connection, board_id: BoardId) -> tuple[Share, ...]:
    """Return the open reservations of the board's runs."""
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
    wish = Share(run_id, row.card_id, row.column, row.by, wish_usd(row) + more_usd)
    paid = spend.spent_by_limit(db, row.board_id, now.date(), (row.card_id,))
    granted = BudgetAllocator(policy, paid, list_reservations(db, row.board_id)).grant(wish)
    return granted if isinstance(granted, BudgetReserved) and granted.usd > row.open_usd else None
