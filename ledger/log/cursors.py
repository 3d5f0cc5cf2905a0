"""The position of each reader of the log; moved in the transaction of the reader's effects."""

from sqlalchemy import Connection

from ledger.db.rows import change, insert, value
from ledger.db.tables import cursors
from ledger.errors import LateWriterError


def position(db: Connection, reader: str) -> int:
    """Return the number of the last event that `reader` is done with; 0 at first."""
    return value(db, cursors.c.position, reader=reader) or 0


def advance_cursor(db: Connection, reader: str, *, before: int, after: int) -> None:
    """Move `reader` from `before` to `after`. Raises LateWriterError when it is not at `before` any more."""
    if change(db, cursors, {"reader": reader, "position": before}, position=after):
        return
    current = position(db, reader)
    if current != before:
        raise LateWriterError(f"reader:{reader}", before, current)
    insert(db, cursors, {"reader": reader, "position": after})
