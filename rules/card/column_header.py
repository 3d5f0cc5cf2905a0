"""The headline of a column: the consequence of a drag into it."""

from rules.policy.column import ColumnPolicy
from rules.registry import ARCHETYPES
from rules.text import plain

MAX_LENGTH = 200
UNSERVED = "The policy names no column of this name: nothing happens here."


def consequence(column: ColumnPolicy) -> str:
    """Return the column's description in one line of at most 200 characters."""
    return plain(ARCHETYPES.load(column.archetype).headline(column), MAX_LENGTH)
