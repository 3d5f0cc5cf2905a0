"""The ledger's tables that are not folded from events, each with what bounds it."""

from ledger.db.tables import BOUND, CORE


def bounds() -> str:
    """Return the block: a line for each table."""
    lines = ["| table | what bounds it |", "| --- | --- |"]
    return "\n".join(lines + [f"| `{table.name}` | {table.info[BOUND]} |" for table in CORE.tables.values()])
