"""The headline of a column: the consequence of a drag into it."""

from rules import registry
from rules.card.state import COLUMNS
from rules.policy.column import ColumnPolicy
from rules.text import plain

MAX_LENGTH = 200
UNSERVED = "The policy names no column of this name: nothing happens here."


def consequence(column: ColumnPolicy) -> str:
    """Return the column's description in one line of at most 200 characters."""
    said: str = registry.part(COLUMNS, column.archetype.value).headline(column)
    return plain(said, MAX_LENGTH)
