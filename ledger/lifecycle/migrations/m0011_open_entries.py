"""The outbox has open entries only: that one was carried out, or given up, is an event."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Drop the entries that are over, and the column of when."""
    db.exec_driver_sql("DELETE FROM outbox WHERE state NOT IN ('pending', 'claimed')")
    db.exec_driver_sql("ALTER TABLE outbox DROP COLUMN settled_at")
