"""A ledger as an older version left it: what the newest migrations and the edition made is undone."""

from sqlalchemy import Engine

from ledger.db.statements import drive
from ledger.db.transactions import GUARD, writing
from ledger.lifecycle.migrate import newest_migration

NUMBER, VERSION, DIGEST = 9, "0.0.9", "0lder" + "0" * 59


def make_older(engine: Engine) -> None:
    """Undo migrations 10 to 12; an edition of a lower version, whose views were the same, has the ledger."""
    assert newest_migration() == NUMBER + 3, "there is a newer migration: undo that one here, too"
    engine.update_execution_options(**{GUARD: None})
    with writing(engine) as db:
        drive(db, "ALTER TABLE outbox ADD COLUMN settled_at TEXT")
        drive(db, "ALTER TABLE outbox DROP COLUMN sending")
        drive(db, f"DELETE FROM migrations WHERE number > {NUMBER}")
        drive(db, f"UPDATE editions SET digest = '{DIGEST}', version = '{VERSION}' WHERE state = 'live'")
    engine.dispose()
