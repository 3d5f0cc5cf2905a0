"""Rebuild of the views: all are dropped and folded again from the events."""

from sqlalchemy import Connection, Engine

from ledger import views
from ledger.db.statements import drive, make_tables
from ledger.db.tables import VIEWS
from ledger.db.transactions import writing
from ledger.log.event_store import read

PAGE = 1000


def rebuild(engine: Engine) -> int:
    """Drop all views and fold every event again, in one transaction; return how many events were folded."""
    with writing(engine) as db:
        return refold(db)


def refold(db: Connection) -> int:
    """Rebuild as `rebuild` does, inside the caller's transaction."""
    views.parts()  # their import declares the tables
    for table in VIEWS.tables.values():
        drive(db, f'DROP TABLE IF EXISTS "{table.name}"')
    make_tables(db, VIEWS.tables.values())
    seq = folded = 0
    while page := read(db, after=seq, limit=PAGE):
        views.fold_all(db, page)
        seq, folded = page[-1].seq, folded + len(page)
    return folded
