"""The database's clock, which all hosts of a ledger share."""

from datetime import datetime

from sqlalchemy import Connection

from ledger.db.column_types import moment_of
from ledger.db.statements import drive

CLOCK = "cardinal_clock"  # execution option: a clock of an engine in place of its database's, for tests
_SQLITE = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"  # sqlite.org/lang_datefunc.html: in UTC
_POSTGRESQL = "SELECT clock_timestamp()"  # now() would be when the transaction began


def database_now(db: Connection) -> datetime:
    """Return the time by the database's clock; with SQLite it is this machine's."""
    clock = db.engine.get_execution_options().get(CLOCK)
    if clock is not None:
        given: datetime = clock()
        return given
    if db.dialect.name == "sqlite":
        return moment_of(drive(db, _SQLITE).fetchone()[0])
    now: datetime = drive(db, _POSTGRESQL).fetchone()[0]
    return now
