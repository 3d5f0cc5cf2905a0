"""Whether the ledger comes from a back-up, and has not adopted yet its traces on GitHub of the time since.

Both marks are cursors. Until it has, nothing is decided, published or started.
"""

from sqlalchemy import Connection

from ledger.db.rows import keep, value
from ledger.db.tables import cursors

READER, NUMBERS = "restored", "run numbers"


def mark_restored(db: Connection) -> None:
    """Let the ledger adopt its traces on GitHub before it acts again."""
    keep(db, cursors, {"reader": READER}, {"position": 1})


def is_restored(db: Connection) -> bool:
    """Tell whether the ledger still has to adopt its traces on GitHub."""
    return bool(value(db, cursors.c.position, reader=READER))


def end_adoption(db: Connection) -> None:
    """Let the ledger act again."""
    keep(db, cursors, {"reader": READER}, {"position": 0})


def note_run_number(db: Connection, number: int) -> None:
    """Keep new runs from having this number, or one below, which GitHub shows already."""
    if number > highest_run_number(db):
        keep(db, cursors, {"reader": NUMBERS}, {"position": number})


def highest_run_number(db: Connection) -> int:
    """Return the highest number of a run that GitHub has shown; 0 where none was adopted."""
    return value(db, cursors.c.position, reader=NUMBERS) or 0
