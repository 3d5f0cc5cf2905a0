"""Examinations: the last findings of `cardinal doctor` and the scheduler on each host."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    db.exec_driver_sql(
        "CREATE TABLE examinations (host TEXT NOT NULL, subject TEXT NOT NULL, examiner TEXT NOT NULL,"
        " at TEXT NOT NULL, findings TEXT NOT NULL, PRIMARY KEY (host, subject))"
    )
