"""The SQL that a ledger in SQLite runs, for tests of how much is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event

_FRAME = ("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA")


@contextmanager
def traced(engine: Engine) -> Iterator[list[str]]:
    """Give a list that takes every statement run meanwhile, without those that begin and end transactions."""
    statements: list[str] = []

    def note(sql: str) -> None:
        if not sql.startswith(_FRAME):
            statements.append(sql)

    def watch(db: Connection) -> None:
        driver: Any = db.connection.driver_connection
        driver.set_trace_callback(note)

    engine.dispose()  # what is traced uses connections that begin here
    event.listen(engine, "begin", watch)
    try:
        yield statements
    finally:
        event.remove(engine, "begin", watch)
        engine.dispose()
