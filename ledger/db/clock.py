"""The database's clock, which all hosts of a ledger share."""

from datetime import datetime

from sqlalchemy import Connection, text

from ledger.db.column_types import moment_of

_SQLITE = text("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")  # sqlite.org/lang_datefunc.html: in UTC
_POSTGRESQL = text("SELECT clock_timestamp()")  # now() would be when the transaction began


def database_now(db: Connection) -> datetime:
    """Return the time by the database's clock; with SQLite it is this machine's."""
    if db.dialect.name == "sqlite":
        return moment_of(str(db.scalar(_SQLITE)))
    now: datetime = db.execute(_POSTGRESQL).scalar_one()
    return now
