"""Hosts: the machines that work on the runs of this ledger."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    db.exec_driver_sql(
        "CREATE TABLE hosts (name TEXT PRIMARY KEY NOT NULL, seen_at TEXT NOT NULL, slots INTEGER NOT NULL,"
        " labels TEXT NOT NULL, version TEXT NOT NULL, drained BOOLEAN NOT NULL)"
    )
