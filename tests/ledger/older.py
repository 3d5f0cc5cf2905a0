"""A ledger as the version before this one left it: what its newest migration and edition made is undone."""

from sqlalchemy import Engine

from ledger.db.statements import drive
from ledger.db.transactions import GUARD, writing
from ledger.lifecycle.migrate import known_number

NUMBER, VERSION, DIGEST = 9, "0.0.9", "0lder" + "0" * 59


def make_older(engine: Engine) -> None:
    """Undo migration 10 and give the ledger to an edition of a lower version, whose views were the same."""
    assert known_number() == NUMBER + 1, "there is a newer migration: undo that one here in place of this one"
    engine.update_execution_options(**{GUARD: None})
    with writing(engine) as db:
        drive(db, "ALTER TABLE outbox DROP COLUMN sending")
        drive(db, f"DELETE FROM migrations WHERE number > {NUMBER}")
        drive(db, f"UPDATE editions SET digest = '{DIGEST}', version = '{VERSION}' WHERE state = 'live'")
    engine.dispose()
