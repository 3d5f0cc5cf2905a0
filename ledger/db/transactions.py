"""The two ways to touch the ledger: one writer at a time, and readers that each see one moment."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from ledger.db.statements import drive

WAIT_S = 10  # how long a writer waits for its turn before it fails loudly
# Who vanishes or sleeps in its turn loses it, before those who wait give up: the server ends its session.
HOLD_S = WAIT_S // 2
_LIMITS = (
    f"SELECT set_config('lock_timeout', '{WAIT_S}s', true),"
    f" set_config('idle_in_transaction_session_timeout', '{HOLD_S}s', true),"
    " set_config('cardinal.editions', 'known', true)"  # see ledger.lifecycle.migrations.m0007_editions
)
KEPT = "cardinal_kept"  # execution option: what begins and ends here, see ledger.lifecycle.open
# Execution option: called in every transaction that writes, to refuse it; knows why one that reads fails.
GUARD = "cardinal_guard"
LOCK_KEY = 0x43415244  # "CARD": the advisory lock that makes PostgreSQL's writers take turns, as SQLite's do
BESIDE_KEY = LOCK_KEY + 1  # of those who write only what nobody reads yet


# Idle connections of SQLite, each with its driver's and whether that may write. For SQLAlchemy each is in one
# long transaction: its own beginning and ending of one takes longer than SQLite's commit.
_idle: WeakKeyDictionary[Engine, list[tuple[Connection, Any, bool]]] = WeakKeyDictionary()


def writing(engine: Engine, *, alone: bool = False) -> AbstractContextManager[Connection]:
    """Give the ledger's only writing transaction of this moment; commit at the end, roll back on any error.

    `alone`: nobody writes `beside` it either. Raises SQLAlchemy's OperationalError when the turn does not
    come within WAIT_S seconds, and what the engine's guard raises.
    """
    if engine.dialect.name == "sqlite":
        return _in_sqlite(engine, writes=True)
    return _writing(engine, *((LOCK_KEY, BESIDE_KEY) if alone else (LOCK_KEY,)))


def beside(engine: Engine) -> AbstractContextManager[Connection]:
    """Give a transaction for tables that nobody else reads yet; in PostgreSQL others write meanwhile."""
    if engine.dialect.name == "sqlite":
        return _in_sqlite(engine, writes=True)
    return _writing(engine, BESIDE_KEY)


def apart(engine: Engine) -> AbstractContextManager[Connection]:
    """Give a transaction for rows that one process alone changes; in PostgreSQL it waits for nobody."""
    return _in_sqlite(engine, writes=True) if engine.dialect.name == "sqlite" else _writing(engine)


def reading(engine: Engine) -> AbstractContextManager[Connection]:
    """Give a transaction that sees one moment of the ledger and is refused when it writes."""
    return _in_sqlite(engine, writes=False) if engine.dialect.name == "sqlite" else _reading(engine)


@contextmanager
def _in_sqlite(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    idle = _idle.get(engine) or _idle.setdefault(engine, [])
    try:
        db, driver, may_write = idle.pop()
    except IndexError:
        db = engine.connect().execution_options(**{KEPT: True})
        db.begin()
        driver, may_write = db.connection.driver_connection, None
    try:
        if may_write is not writes:
            driver.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
        drive(db, "BEGIN IMMEDIATE" if writes else "BEGIN")  # may find the ledger locked
        if writes:
            _guard(engine, db)
        yield db
        drive(db, "COMMIT")
    except BaseException as error:
        db.close()  # rolls back; whatever state the error left it in, nobody gets it again
        if isinstance(error, DBAPIError):
            _explain(engine)
        raise
    idle.append((db, driver, writes))


def close_idle(engine: Engine) -> None:
    """Close the idle connections of an engine that is disposed of, and of those that share its pool."""
    for other in [it for it in _idle if it.pool is engine.pool]:
        for db, _, _ in _idle.pop(other):
            db.detach()  # its pool is gone, and would keep it open
            db.close()


@contextmanager
def _writing(engine: Engine, *locks: int) -> Iterator[Connection]:
    # Whoever waited for the lock must see what the one before wrote, whatever the server's default is.
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as db, db.begin():
        drive(db, _LIMITS)
        for key in locks:
            drive(db, f"SELECT pg_advisory_xact_lock({key})")
        _guard(engine, db)
        yield db


@contextmanager
def _reading(engine: Engine) -> Iterator[Connection]:
    options: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect().execution_options(**options) as db, db.begin():
            yield db
    except ProgrammingError:  # no server that fell silent, which is not worth another wait
        _explain(engine)
        raise


def _guard(engine: Engine, db: Connection) -> None:
    guard = engine.get_execution_options().get(GUARD)
    if guard is not None:
        guard(db)


def _explain(engine: Engine) -> None:
    """Raise what the guard raises, where that is why a table is missing."""
    if GUARD in engine.get_execution_options():
        with (
            suppress(DBAPIError),
            engine.connect() as db,
        ):  # the first error says it when the database is away
            _guard(engine, db)


@contextmanager
def undoable(db: Connection) -> Iterator[None]:
    """Undo what is written within, and nothing else of the transaction, when an error leaves it."""
    drive(db, "SAVEPOINT undoable")
    try:
        yield
    except BaseException:
        drive(db, "ROLLBACK TO SAVEPOINT undoable")
        raise
    finally:
        drive(db, "RELEASE SAVEPOINT undoable")
