"""Doorbells keep the moves that deliveries name, and the time up to which moves are recorded."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Add the two columns, empty."""
    db.exec_driver_sql("ALTER TABLE doorbells ADD COLUMN told TEXT NOT NULL DEFAULT ''")
    db.exec_driver_sql("ALTER TABLE doorbells ADD COLUMN recorded_at TEXT")
