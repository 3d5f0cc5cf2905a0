"""Outbox entries say in a column that a publisher sends them just now, no longer in their error."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Add the column, and fill it from the error's text."""
    db.exec_driver_sql("ALTER TABLE outbox ADD COLUMN sending BOOLEAN NOT NULL DEFAULT FALSE")
    db.exec_driver_sql("UPDATE outbox SET sending = TRUE, error = '' WHERE error = 'it is being sent'")
