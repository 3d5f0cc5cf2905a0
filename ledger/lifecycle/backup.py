"""Back-ups of a SQLite ledger while it is in use, and their way back, or over into an empty PostgreSQL.

A ledger in PostgreSQL has pg_dump for its own, and `ledger.lifecycle.schema_copy` before upgrades.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any

from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import Connection, Engine, NullPool, Table, create_engine, insert, make_url, select

from ledger.db import tables
from ledger.db.statements import drive
from ledger.db.transactions import WAIT_S, reading, writing
from ledger.errors import BackupError, NewerLedgerError
from ledger.lifecycle.in_place import put_in_place
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.plain_schema import require_plain
from ledger.lifecycle.private_files import make_file, make_folder
from ledger.lifecycle.rebuild import refold
from ledger.lifecycle.schema_copy import NEXT_ENTRY, put_back, require_copy
from ledger.log.event_store import last_seq
from ledger.log.hash_chain import ChainReport, verify_chain
from ledger.queue import restored

PAGE = 1000  # rows at once
# Not the hosts, which make themselves known, nor what a ledger is made with.
COPIED = (
    *(tables.events, tables.inbox, tables.outbox, tables.leases, tables.cursors),
    *(tables.refresh_requests, tables.change_reports, tables.sign_ins, tables.spent_states),
    *(tables.api_tokens, tables.acted_requests),
)


def backup(engine: Engine, target: Path) -> ChainReport:
    """Copy the ledger as it is at one moment to `target`, which appears whole or not at all; return the check
    of its chain.

    Raises BackupError on PostgreSQL, when `target` exists or cannot be written, BrokenChainError when the
    copy's chain is broken.
    """
    _require_sqlite(engine.dialect.name)
    if target.exists():
        raise BackupError(f"{target} exists: name a file that does not, so that no older back-up is lost")
    with copy_ledger(engine, target) as partial:
        return check_copy(partial)


@contextmanager
def copy_ledger(engine: Engine, target: Path) -> Iterator[Path]:
    """Give a copy of the SQLite ledger as it is at one moment; at the end it becomes `target`, or none does.

    Raises BackupError where there is no room, or it cannot be written.
    """
    source = Path(str(engine.url.database))
    partial = target.with_name(target.name + ".partial")
    try:
        make_folder(target.parent)
        partial.unlink(missing_ok=True)
        _require_room(source, target.parent)
        make_file(partial)  # a copy outside of the home is for this user alone, too
        try:
            with _connect(str(source)) as ledger, _connect(str(partial)) as copy:
                ledger.backup(
                    copy, pages=-1
                )  # one read transaction: writers go on, the copy is of one moment
                copy.execute("PRAGMA journal_mode = DELETE")  # one file that can be carried away
            yield partial
            put_in_place(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, sqlite.Error) as error:
        step = "make room there, or let this user write there"
        raise BackupError(f"{target} cannot be written: {error}; {step}") from error


def check_copy(file: Path) -> ChainReport:
    """Return the report on the chain in `file`. Raises BackupError for other files, BrokenChainError."""
    require_sound(file)
    with _ledger_in(file) as db:
        return verify_chain(db)


def require_sound(file: Path) -> None:
    """Raise BackupError where the file is no ledger whose pages are whole; its chain is not looked at."""
    if not file.is_file():
        raise BackupError(f"{file} is no file")
    with _connect(str(file)) as db:
        try:
            problem = db.execute("PRAGMA quick_check").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[0]
        except sqlite.DatabaseError as error:
            raise BackupError(f"{file} cannot be read as a ledger: {error}") from error
    if problem != "ok" or not tables:
        raise BackupError(f"{file} is no sound ledger: {problem if tables else 'it has no events'}")


def require_source(source: Path, url: str) -> None:
    """Raise BackupError where there is no such back-up that `restore` could put in the ledger's place."""
    if not source.is_file() and _is_postgresql(url):
        require_copy(url, str(source))
    else:
        require_plain(source)


def restore(source: Path, url: str, *, host: str = "", overwrite_newer: bool = False) -> ChainReport:
    """Put the back-up `source` in the place of the ledger at `url`; return the checks before.

    A database of PostgreSQL must be empty, unless `source` names a copy in it; `host` is this one then.
    Nothing may be running on the ledger. Raises NewerLedgerError when the ledger has more events than the
    back-up, unless `overwrite_newer`; BackupError and BrokenChainError when the back-up is not whole. A file
    that is no database any more is set aside, under its name with `.broken`.
    """
    place = make_url(url)
    if _is_postgresql(url) and not source.is_file():
        return put_back(url, str(source), host=host, overwrite_newer=overwrite_newer)
    require_plain(source)
    report = check_copy(source)
    if _is_postgresql(url):
        return _copy_over(source, url)
    target = Path(str(place.database))
    if target.exists() and not _is_sound(target):
        _set_aside(target)
    if target.exists() and not overwrite_newer:
        with _ledger_in(target) as db:
            last = last_seq(db)
        if last > report.events:
            raise NewerLedgerError(last, report.events, "event")
    make_folder(target.parent)
    if not target.exists():
        make_file(target)
    with _connect(str(source)) as copy, _connect(str(target)) as ledger:
        copy.backup(ledger, pages=-1)  # all at once: a reader of the target sees the one or the other
        ledger.execute("INSERT OR REPLACE INTO cursors VALUES (?, 1)", (restored.READER,))
        ledger.commit()
    return report


def _copy_over(source: Path, url: str) -> ChainReport:
    """Copy the back-up into the empty ledger at `url`, all or nothing, and fold the views there."""
    with TemporaryDirectory(prefix="cardinal-restore-") as folder:
        copy = Path(folder) / "ledger.db"
        make_file(copy)
        with _connect(str(source)) as backed_up, _connect(str(copy)) as fresh:
            backed_up.backup(fresh, pages=-1)
        there, target = open_ledger(f"sqlite:///{copy}"), open_ledger(url)  # both of this version then
        try:
            with reading(there) as old, writing(target) as new:
                if any(new.execute(select(table).limit(1)).first() for table in COPIED):
                    raise BackupError("the database has a ledger that was used already: name an empty one")
                # Nothing waits for this turn, and a page may take longer to fold than a worker may hesitate.
                drive(new, "SET LOCAL idle_in_transaction_session_timeout = 0")
                copy_rows(old, new, COPIED)
                drive(new, NEXT_ENTRY)
                refold(new)
                restored.mark_restored(new)
                return verify_chain(new)
        finally:
            there.dispose()
            target.dispose()


def copy_rows(old: Connection, new: Connection, tables: Iterable[Table]) -> None:
    """Copy all rows of these tables into empty ones, a page at once."""
    for table in tables:
        for rows in old.execution_options(yield_per=PAGE).execute(select(table)).partitions():
            new.execute(insert(table), [row._asdict() for row in rows])


def _is_sound(file: Path) -> bool:
    with _connect(str(file)) as db:
        try:
            return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite.OperationalError:  # somebody uses it: that says nothing about what is in it
            return True
        except sqlite.DatabaseError:
            return False


def _set_aside(file: Path) -> None:
    """Rename a broken ledger with SQLite's files beside it: nothing may be mixed with them."""
    free = next(n for n in count() if not file.with_name(f"{file.name}.broken{n or ''}").exists())
    for part in ("", "-wal", "-shm", "-journal"):
        companion = file.with_name(file.name + part)
        if companion.exists():
            companion.rename(file.with_name(f"{file.name}.broken{free or ''}{part}"))


def _require_room(source: Path, folder: Path) -> None:
    """Raise BackupError before a copy would fill the disk, on which a Cardinal at work may write."""
    parts = (source, source.with_name(f"{source.name}-wal"))
    needed = sum(part.stat().st_size for part in parts if part.exists())
    free = disk_usage(folder).free
    if free < needed:
        raise BackupError(f"the ledger needs {needed / 1e6:.1f} MB, {folder} has {free / 1e6:.1f}: make room")


def _is_postgresql(url: str) -> bool:
    return make_url(url).get_backend_name() == "postgresql"


def _require_sqlite(backend: str) -> None:
    if backend != "sqlite":
        raise BackupError(f"a ledger in {backend} is backed up with pg_dump and restored with pg_restore")


@contextmanager
def _ledger_in(file: Path) -> Iterator[Connection]:
    """Give the file as it is, of whatever version: nothing is migrated."""
    engine = create_engine(f"sqlite:///{file}", module=sqlite, poolclass=NullPool)
    with engine.connect() as db:
        yield db


@contextmanager
def _connect(path: str) -> Iterator[Any]:
    with closing(sqlite.connect(path, timeout=WAIT_S)) as connection:
        yield connection
