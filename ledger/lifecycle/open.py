"""Opens a ledger in SQLite or PostgreSQL: durable, fork-safe, guarded against faulty SQLite versions."""

import os
import time
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import URL

from ledger.db.silence import ANSWER_S
from ledger.db.transactions import GUARD, KEPT, MAX_POLL_S, WAIT_S, close_idle
from ledger.errors import LedgerUrlError
from ledger.lifecycle.edition import require_live
from ledger.lifecycle.migrations.m0007_editions import SIGN
from ledger.lifecycle.private_files import make_file, make_folder
from ledger.lifecycle.upgrade import Before, Progress, require_current, upgrade_ledger

# That SQLite keeps prepared for each connection. One event's views, rules and entries take about 150, and to
# prepare them anew costs a quarter of an event; the driver keeps 128.
STATEMENTS = 400
_open: "weakref.WeakSet[Engine]" = weakref.WeakSet()
_hook: list[bool] = []  # filled once: a hook at fork cannot be taken back


def open_ledger(
    url: str,
    *,
    migrate: bool = True,
    durable: bool = True,
    answer_s: float = ANSWER_S,
    progress: Progress | None = None,
    before: Before | None = None,
) -> Engine:
    """Return an engine for `sqlite:///path` or `postgresql://…`, its tables brought up to date when
    `migrate`; `progress` is called while that takes a while, `before` where another version has it so far.
    Writes are refused once another version took over. An SQLite file that is not `durable` can lose its last
    commits in a power cut: for tests only.
    A statement that PostgreSQL does not answer within `answer_s` raises OperationalError.

    Safe to keep over a fork: idle connections are closed just before it, so the child opens its own. Raises
    LedgerUrlError for another kind of URL, NewerLedgerError, OutdatedError, and OlderLedgerError when
    `migrate` is off.
    """
    engine = connect(url, durable=durable, answer_s=answer_s)
    try:
        if migrate:
            upgrade_ledger(engine, progress, before=before)
        else:
            require_current(engine)
        engine.update_execution_options(**{GUARD: require_live})
    except BaseException:
        engine.dispose()
        raise
    return engine


def connect(url: str, *, durable: bool = True, answer_s: float = ANSWER_S) -> Engine:
    """Return an engine for a ledger of whatever version, as it is. Raises LedgerUrlError."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = _open_sqlite(parsed, durable)
    elif parsed.get_backend_name() == "postgresql":
        engine = _open_postgresql(parsed, answer_s)
    else:
        raise LedgerUrlError(parsed.get_backend_name())
    _close_before_fork(engine)
    return engine


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Return whether this SQLite is free of the WAL-reset bug. Source: sqlite.org/wal.html#walresetbug."""
    branch = version[:2]
    if branch == (3, 44):
        return version >= (3, 44, 6)
    if branch == (3, 50):
        return version >= (3, 50, 7)
    return version >= (3, 51, 3)


def journal_warning(engine: Engine) -> str | None:
    """Return why this ledger does not use SQLite's write-ahead log, for the operator; None when it does."""
    if engine.dialect.name != "sqlite":
        return None
    if not wal_is_safe(sqlite.sqlite_version_info):
        return (
            f"SQLite {sqlite.sqlite_version} can corrupt a write-ahead log, so the slower rollback journal"
            " is used: install pysqlite3 0.6.1 or newer"
        )
    with engine.connect() as db:
        mode = db.exec_driver_sql("PRAGMA journal_mode").scalar()
    if mode == "wal":
        return None
    return f"the ledger's journal mode is {mode}, not wal: its folder may be on a network file system"


def _open_sqlite(url: URL, durable: bool) -> Engine:
    if not url.database or url.database == ":memory:":
        raise LedgerUrlError("sqlite without a file")
    file = Path(url.database)
    make_folder(file.parent)
    with suppress(FileExistsError):
        make_file(file)
    engine = create_engine(
        url,
        module=sqlite,
        connect_args={"timeout": WAIT_S, "cached_statements": STATEMENTS},
        max_overflow=-1,  # as many as there are threads, one of each for reading and one for writing
    )
    engine.dialect.statement_compiler = _Compiler
    event.listen(engine, "connect", partial(_prepare, durable))
    event.listen(engine, "begin", _begin)
    event.listen(engine, "engine_disposed", close_idle)
    return engine


class _Compiler(SQLiteCompiler):
    """SQLite plans a statement anew each time that a plain LIMIT is bound: longer than most answers take.

    Here it does not see the limit. Source: sqlite3ExprIsInteger in its computeLimitRegisters.
    """

    def limit_clause(self, select: Any, **how: Any) -> str:
        text: str = super().limit_clause(select, **how)  # type: ignore[no-untyped-call]
        return text.replace(" OFFSET ", " + 0 OFFSET ")


def _prepare(durable: bool, connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin by itself: _begin does
    mode = "wal" if wal_is_safe(sqlite.sqlite_version_info) else "delete"
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != mode:
        _switch_journal(connection, mode)
    # NORMAL would answer 202 before the delivery is on disk.
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.create_function(SIGN, 0, lambda: True)


def _switch_journal(connection: Any, mode: str) -> None:
    """Set the journal mode, however many come to a new ledger at once: here SQLite waits for no writer."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            return
        except sqlite.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() >= until:
                raise
        time.sleep(MAX_POLL_S)


def _begin(db: Connection) -> None:
    if not db.get_execution_options().get(KEPT):  # for what is neither `reading` nor `writing`
        driver: Any = db.connection.driver_connection
        driver.execute("PRAGMA query_only = ON")
        driver.execute("BEGIN")


def _open_postgresql(url: URL, answer_s: float) -> Engine:
    from ledger.db import postgresql  # its driver takes time to import, which SQLite's users need not spend

    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        # a rebuilt view would break statements that another process has prepared
        connect_args={**postgresql.connection_limits(url), "prepare_threshold": None},
    )
    postgresql.limit_answers(engine, answer_s)
    return engine


def _close_before_fork(engine: Engine) -> None:
    _open.add(engine)
    if not _hook:
        _hook.append(True)
        os.register_at_fork(before=_close_idle)


def _close_idle() -> None:
    # A child that inherits an open SQLite file believes in locks that it does not hold
    # (sqlite.org/howtocorrupt.html).
    for engine in list(_open):
        engine.dispose()
