"""Reports: changes of cards and their authors, as deliveries say, until the change is read."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    db.exec_driver_sql(
        "CREATE TABLE reports (card_id TEXT NOT NULL, sender TEXT NOT NULL, about TEXT NOT NULL,"
        " value TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (card_id, sender, about, value))"
    )
