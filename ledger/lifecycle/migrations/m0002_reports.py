"""Reports: who changed what about a card, as deliveries say, until a look has seen the change."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Make the table."""
    db.exec_driver_sql(
        "CREATE TABLE reports (card_id TEXT NOT NULL, sender TEXT NOT NULL, about TEXT NOT NULL,"
        " value TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (card_id, sender, about, value))"
    )
