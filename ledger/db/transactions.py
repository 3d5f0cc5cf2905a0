"""The two ways to touch the ledger: one writer at a time, and readers that each see one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

from ledger.db.statements import drive

WAIT_S = 10  # how long a writer waits for its turn before it fails loudly
# Who vanishes or sleeps in its turn loses it, before those who wait give up: the server ends its session.
HOLD_S = WAIT_S // 2
_LIMITS = (
    f"SELECT set_config('lock_timeout', '{WAIT_S}s', true),"
    f" set_config('idle_in_transaction_session_timeout', '{HOLD_S}s', true)"
)
WRITES = "cardinal_writes"  # execution option: which BEGIN the engine sends, see ledger.lifecycle.open
LOCK_KEY = 0x43415244  # "CARD": the advisory lock that makes PostgreSQL's writers take turns, as SQLite's do


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give the ledger's only writing transaction of this moment; commit at the end, roll back on any error.

    Raises SQLAlchemy's OperationalError when the turn does not come within WAIT_S seconds.
    """
    options: dict[str, object] = {WRITES: True}
    if engine.dialect.name == "postgresql":
        # Whoever waited for the lock must see what the one before wrote, whatever the server's default is.
        options |= {"isolation_level": "READ COMMITTED"}
    with engine.connect().execution_options(**options) as db, db.begin():
        if db.dialect.name == "postgresql":
            drive(db, _LIMITS)
            drive(db, f"SELECT pg_advisory_xact_lock({LOCK_KEY})")
        yield db


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Give a transaction that sees one moment of the ledger and is refused when it writes."""
    options: dict[str, object] = {WRITES: False}
    if engine.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine.connect().execution_options(**options) as db, db.begin():
        yield db


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
