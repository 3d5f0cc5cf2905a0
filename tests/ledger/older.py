"""A ledger as an older version left it: what the newest migrations and the edition made is undone."""

from sqlalchemy import Engine

from ledger.db.statements import drive
from ledger.db.transactions import GUARD, writing
from ledger.lifecycle.migrate import newest_migration
from ledger.lifecycle.migrations import m0013_table_names as table_names

NUMBER, VERSION, DIGEST = 9, "0.0.9", "0lder" + "0" * 59


def make_older(engine: Engine) -> None:
    """Undo migrations 10 to 13; an edition of a lower version, whose views were the same, has the ledger."""
    assert newest_migration() == NUMBER + 4, "there is a newer migration: undo that one here, too"
    engine.update_execution_options(**{GUARD: None})
    with writing(engine) as db:
        for table, old, new in table_names.COLUMNS:
            drive(db, f"ALTER TABLE {table} RENAME COLUMN {new} TO {old}")
        for old, new in table_names.TABLES.items():
            drive(db, f"ALTER TABLE {new} RENAME TO {old}")
        drive(db, "DROP INDEX refresh_requests_waiting")
        drive(db, "CREATE INDEX doorbells_waiting ON doorbells (rung_at) WHERE rung > answered")
        drive(db, "DROP INDEX sign_ins_user")
        drive(db, "CREATE INDEX visits_user ON visits (user_id)")
        drive(db, "ALTER TABLE outbox ADD COLUMN settled_at TEXT")
        drive(db, "ALTER TABLE outbox DROP COLUMN sending")
        drive(db, f"DELETE FROM migrations WHERE number > {NUMBER}")
        drive(db, f"UPDATE editions SET digest = '{DIGEST}', version = '{VERSION}' WHERE state = 'live'")
    engine.dispose()
