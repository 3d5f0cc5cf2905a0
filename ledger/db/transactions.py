"""The two ways to touch the ledger: one writer at a time, and readers that each see one moment.

SQLite's writers queue across processes and threads, first come, first served. Whoever waits holds a lock on
one byte of an open folder, its ticket: the kernel takes it back when the process ends, however that happens.
Nothing but the order hangs on it.
"""

import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final
from weakref import WeakKeyDictionary, finalize

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from ledger.db.statements import drive

_FLOCK: Final = "hhqqi0q"  # struct flock of 64-bit Linux: kind, whence, start, length, process
_ALL: Final = 0  # as a length: to the end, wherever that is
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
# Between two looks of a writer whether it is its turn: of the next one, of the others, and of any at most.
NEXT_POLL_S, POLL_S, MAX_POLL_S = 0.0004, 0.002, 0.005


def join_queue(folder: int, *, urgent: bool = False) -> int:
    """Take a ticket behind all who wait, and return it; an `urgent` one directly behind the first of them.

    So an urgent writer waits for two others at most, and a sequence of urgent ones takes every second turn.
    Who comes at the same moment may have the same ticket, and the ledger's own lock decides.
    """
    # Usual ones are even, so that an urgent one fits between any two.
    ticket = _first(folder) | 1 if urgent else (_last(folder) // 2 + 1) * 2
    _call(folder, fcntl.F_OFD_SETLK, fcntl.F_RDLCK, ticket, 1)
    return ticket


def is_first(folder: int, ticket: int) -> bool:
    """Tell whether nobody waits who goes before that ticket."""
    return _ticket_in(folder, 0, ticket) is None


def give_back(folder: int) -> None:
    _call(folder, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, 0, _ALL)


def _first(folder: int) -> int:
    """Return the first ticket of others; 0 when nobody waits."""
    first, ticket = 0, _ticket_in(folder, 0, _ALL)
    while ticket is not None:
        first, ticket = ticket, _ticket_in(folder, 0, ticket)
    return first


def _last(folder: int) -> int:
    """Return the last ticket of others; 0 when nobody waits."""
    last, ticket = 0, _ticket_in(folder, 0, _ALL)
    while ticket is not None:
        last, ticket = ticket, _ticket_in(folder, ticket + 1, _ALL)
    return last


def _ticket_in(folder: int, start: int, length: int) -> int | None:
    """Return a ticket of others in that range: any, for the kernel keeps them in no order."""
    kind, _, ticket, _, _ = _call(folder, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, length)
    return None if kind == fcntl.F_UNLCK else ticket


def _call(folder: int, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
    return struct.unpack(_FLOCK, fcntl.fcntl(folder, command, struct.pack(_FLOCK, kind, 0, start, length, 0)))


@dataclass(frozen=True, slots=True)
class _Kept:
    """An idle connection of SQLite.

    For SQLAlchemy it is in one long transaction: its own beginning and ending of one takes longer than a
    commit. Writers queue at the ledger's open `folder`: SQLite itself gives its lock to whoever comes at the
    right moment, and sleeps up to 0.1 s meanwhile. -1 without a write-ahead log, and for who only reads.
    """

    db: Connection
    folder: int
    shut: Callable[[], object]  # closes the folder; so does the end of `db`


class _Mine(threading.local):
    """How many transactions this thread is in; entered once for each."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


_mine = _Mine()
# By engine: those that only read, and those that write. For one that changes, SQLite prepares all anew.
_idle: WeakKeyDictionary[Engine, tuple[list[_Kept], list[_Kept]]] = WeakKeyDictionary()


def is_held() -> bool:
    """Whether this thread has a transaction open: others wait for its end, so nothing slow belongs in it."""
    return _mine.depth > 0


def writing(
    engine: Engine, *, alone: bool = False, urgent: bool = False
) -> AbstractContextManager[Connection]:
    """Give the ledger's only writing transaction of this moment; commit at the end, roll back on any error.

    `alone`: nobody writes `beside` it either. `urgent`: in SQLite it waits for two other writers at most.
    Raises SQLAlchemy's OperationalError when the turn does not come within WAIT_S seconds, and the errors of
    the engine's guard.
    """
    if engine.dialect.name == "sqlite":
        return _in_sqlite(engine, writes=True, urgent=urgent)
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
def _in_sqlite(engine: Engine, *, writes: bool, urgent: bool = False) -> Iterator[Connection]:
    idle = (_idle.get(engine) or _idle.setdefault(engine, ([], [])))[writes]
    kept = idle.pop() if idle else _open_connection(engine, writes=writes)
    db = kept.db
    try:
        if writes:
            _take_turn(kept, urgent=urgent)
            _guard(engine, db)
        else:
            drive(db, "BEGIN")
        with _mine:
            yield db
        drive(db, "COMMIT")
    except BaseException as error:
        _close(kept)  # rolls back; whatever state the error left it in, nobody gets it again
        if isinstance(error, DBAPIError):
            _explain(engine)
        raise
    idle.append(kept)


def _open_connection(engine: Engine, *, writes: bool) -> _Kept:
    db = engine.connect().execution_options(**{KEPT: True})
    db.begin()
    driver: Any = db.connection.driver_connection
    folder, shut = -1, lambda: None
    if writes and driver.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        folder = os.open(os.path.dirname(engine.url.database or "") or ".", os.O_RDONLY)
        shut = finalize(db, os.close, folder)
    driver.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
    # With a log whoever has the turn waits for nobody; without one a commit waits for readers.
    driver.execute(f"PRAGMA busy_timeout = {0 if folder >= 0 else WAIT_S * 1000}")
    return _Kept(db, folder, shut)


def _close(kept: _Kept) -> None:
    kept.db.close()
    kept.shut()


def _take_turn(kept: _Kept, *, urgent: bool) -> None:
    """Begin to write. Raises OperationalError when the turn does not come within WAIT_S."""
    if _is_free(kept.folder) and _begin(kept.db, must=False):
        return
    began = since = time.monotonic()
    ticket, is_next = _ticket(kept.folder, urgent=urgent), False
    try:
        while True:
            now = time.monotonic()
            if not is_next and (ticket is None or is_first(kept.folder, ticket)):
                is_next, since = True, now
            is_last = kept.folder < 0 or now - began >= WAIT_S
            if (is_next or is_last) and _begin(kept.db, must=is_last):
                return
            time.sleep(min(max(NEXT_POLL_S if is_next else POLL_S, (now - since) / 10), MAX_POLL_S))
    finally:
        if ticket is not None:
            give_back(kept.folder)


def _is_free(folder: int) -> bool:
    """Tell whether nobody waits; False where nobody can know."""
    if folder < 0:
        return False
    try:
        return _ticket_in(folder, 0, _ALL) is None
    except OSError:  # a file system without such locks
        return False


def _ticket(folder: int, *, urgent: bool) -> int | None:
    """Join the queue of writers; None where there is none."""
    if folder < 0:
        return None
    try:
        return join_queue(folder, urgent=urgent)
    except OSError:  # a file system without such locks
        return None


def _begin(db: Connection, *, must: bool) -> bool:
    try:
        drive(db, "BEGIN IMMEDIATE")
    except OperationalError as error:
        # Somebody may mend the log of a killed writer meanwhile: SQLITE_BUSY_RECOVERY.
        if must or not getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
            raise
        return False
    return True


def close_idle(engine: Engine) -> None:
    """Close the idle connections of an engine that is disposed of, and of those that share its pool."""
    for other in [it for it in _idle if it.pool is engine.pool]:
        for kept in chain(*_idle.pop(other)):
            kept.db.detach()  # its pool is gone, and would keep it open
            _close(kept)


@contextmanager
def _writing(engine: Engine, *locks: int) -> Iterator[Connection]:
    # Whoever waited for the lock must see what the one before wrote, whatever the server's default is.
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as db, db.begin():
        drive(db, ", ".join((_LIMITS, *(f"pg_advisory_xact_lock({key})" for key in locks))))  # in their order
        _guard(engine, db)
        with _mine:
            yield db


@contextmanager
def _reading(engine: Engine) -> Iterator[Connection]:
    options: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with engine.connect().execution_options(**options) as db, db.begin(), _mine:
            yield db
    except ProgrammingError:  # no server that fell silent, which is not worth another wait
        _explain(engine)
        raise


def _guard(engine: Engine, db: Connection) -> None:
    guard = engine.get_execution_options().get(GUARD)
    if guard is not None:
        guard(db)


def _explain(engine: Engine) -> None:
    """Raise the guard's error, where that is why a table is missing."""
    if GUARD in engine.get_execution_options():
        with (
            suppress(DBAPIError),
            engine.connect() as db,
        ):  # the first error says it when the database is away
            _guard(engine, db)


@contextmanager
def undoable(db: Connection) -> Iterator[None]:
    """Undo the writes within, and no others of the transaction, when an error leaves it."""
    drive(db, "SAVEPOINT undoable")
    try:
        yield
    except BaseException:
        if not db.invalidated:  # a lost connection has nothing to undo, and its error is the one to raise
            drive(db, "ROLLBACK TO SAVEPOINT undoable")
            drive(db, "RELEASE SAVEPOINT undoable")
        raise
    drive(db, "RELEASE SAVEPOINT undoable")
