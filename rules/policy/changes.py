"""What another policy would change: for each column, what a drag into it does."""

from collections.abc import Mapping

from ledger.events.policy import ColumnChange
from rules.card.column_actions import consequence
from rules.policy.model import Policy


def changed_columns(
    before: Policy, after: Policy, cards: Mapping[str | None, int]
) -> tuple[ColumnChange, ...]:
    """Return the columns whose rules differ; `cards` counts those that stand in each column."""
    names = dict.fromkeys((*after.board.columns, *before.board.columns))
    return tuple(
        ColumnChange(name, _consequence(before, name), _consequence(after, name), cards.get(name, 0))
        for name in names
        if before.column(name) != after.column(name)
    )


def _consequence(policy: Policy, name: str) -> str:
    column = policy.column(name)
    return consequence(column) if column is not None else ""
