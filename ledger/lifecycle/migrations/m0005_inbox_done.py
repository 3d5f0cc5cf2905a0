"""An index of the deliveries that are done, to drop old ones and to count."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    db.exec_driver_sql("CREATE INDEX inbox_done ON inbox (settled_at) WHERE state = 'done'")
