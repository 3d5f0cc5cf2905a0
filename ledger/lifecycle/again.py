"""Rebuild while work goes on: views are folded beside those at work, and take their place in one transaction.

The tables of this process have names of their own meanwhile. The code is the same, so nobody is refused.

A long log is folded by processes side by side, each in an SQLite file of its own, and copied: none waits for
the ledger's lock meanwhile, nor for PostgreSQL after each statement. Views that depend on each other, as
`ledger.view_tables` knows, have one process.
"""

import fcntl
import logging
import os
import signal
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from ledger import codec, view_tables, views
from ledger.db.clock import database_now
from ledger.db.rows import change, drop, insert
from ledger.db.statements import Statement, drive, make_tables
from ledger.db.tables import VIEWS, EditionState, editions
from ledger.db.transactions import beside, reading, writing
from ledger.errors import OlderLedgerError
from ledger.lifecycle.edition import every, live, mine, own_edition
from ledger.lifecycle.migrate import current_number, newest_migration
from ledger.lifecycle.open import connect
from ledger.lifecycle.upgrade import (
    REBUILT,
    Progress,
    drop_remains,
    fold_beside,
    give_way,
    is_prepared,
    prepare,
)
from ledger.log.event_store import last_seq, read_kinds

log = logging.getLogger(__name__)

PREFIX = "cardinal-rebuild-"  # begins the names of folders below TMPDIR
PAGE = 1000  # events folded, or rows copied, in one transaction
PARALLEL_FROM = 5_000  # events: of fewer, processes and copies cost more time than they save


def fold_parallel(engine: Engine, progress: Progress, *, least: int, processes: int) -> None:
    """Fold a log of at least so many events into this code's new tables, for `fold_beside` to go on with.

    Does nothing where they are partly folded already, and gives up where another rebuild begins to copy, or a
    process fails, as on a full disk: then `fold_beside` begins from nothing, and needs no files.
    """
    with reading(engine) as db:
        until, rows = last_seq(db), every(db)
    if until < least or is_prepared(rows):
        return
    try:
        with _new_folder() as folder:
            shares = view_shares(processes)
            files = [folder / str(number) / "views.db" for number in range(len(shares))]
            _fold_shares(engine, list(zip(files, shares, strict=True)), until, progress)
            _copy(engine, files, until)
    except (OSError, DBAPIError) as error:  # where it was the ledger's, `fold_beside` meets it again
        log.warning("%s; one process folds now, which needs no room there", _because(error))


@contextmanager
def _new_folder() -> Iterator[Path]:
    """Give a folder that is this process's while it lives; those that killed ones left are removed."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), _lock(left):  # unless it is somebody's
            rmtree(left)
    with TemporaryDirectory(prefix=PREFIX) as made, _lock(folder := Path(made)):
        yield folder


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock it; children that are forked meanwhile hold the lock, too. Raises OSError where others do."""
    lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def view_shares(processes: int) -> list[frozenset[str]]:
    """Return the views of each process, the largest group first.

    More processes than the other views can keep as busy as that group would be of no use.
    """
    digests = views.digests()
    groups = [[name for name in digests if digests[name] == group] for group in {*digests.values()}]
    groups.sort(key=lambda group: (-len(group), group))
    shares: list[list[str]] = [[] for _ in range(min(processes, -(-len(digests) // len(groups[0]))))]
    for group in groups:
        min(shares, key=len).extend(group)
    return [frozenset(share) for share in shares]


def _fold_shares(
    engine: Engine, shares: list[tuple[Path, frozenset[str]]], until: int, progress: Progress
) -> None:
    """Fold the first share here and each other in a child. Raises ChildProcessError where one failed."""
    url = engine.url.render_as_string(hide_password=False)
    children: list[int] = []
    try:
        children += (_child(url, file, names, until) for file, names in shares[1:])
        for position in _fold(url, *shares[0], until):
            progress(position, until)
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        raise ChildProcessError("one of them ended")


def _child(url: str, file: Path, names: frozenset[str], until: int) -> int:
    parent = os.getpid()
    if pid := os.fork():
        return pid
    status = 1
    try:
        status = 0 if all(os.getppid() == parent for _ in _fold(url, file, names, until)) else 1
    except (OSError, DBAPIError) as error:
        log.warning(_because(error))
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _because(error: Exception) -> str:
    return f"views could not be folded in files below TMPDIR: {getattr(error, 'orig', None) or error}"


def _fold(url: str, file: Path, names: frozenset[str], until: int) -> Iterator[int]:
    """Fold these views into a new file; yield the last event of each page."""
    engine, own = connect(url), connect(f"sqlite:///{file}", durable=False)
    kinds = [kind for kind in codec.kinds() if views.fold_steps(kind, names)]
    after = 0
    try:
        with writing(own) as db:
            make_tables(db, VIEWS.tables.values())
        while after < until:
            with reading(engine) as db:
                page = read_kinds(db, kinds, after=after, until=until, limit=PAGE)
            with writing(own) as db:
                views.fold_all(db, page, names)
            after = page[-1].seq if len(page) == PAGE else until
            yield after
    finally:
        own.dispose()
        engine.dispose()


def _copy(engine: Engine, files: list[Path], until: int) -> None:
    """Copy the rows of the files; meanwhile the tables count as unprepared, for whoever finds them."""
    mark = (token_hex(4),)
    with beside(engine) as db:
        row = own_edition(every(db)) if prepare(db, every(db)) else None
        if row is None:
            return
        change(db, editions, {"digest": mine().digest}, folded=mark)
    for insertion, rows in _rows(files):
        with beside(engine) as db:
            if not _has(db, mark):
                return
            insertion.run_all(db, rows)
            change(db, editions, {"digest": mine().digest}, at=database_now(db))
        give_way(engine)
    with beside(engine) as db:
        if _has(db, mark):
            change(db, editions, {"digest": mine().digest}, folded=row.folded, position=until)


def _rows(files: list[Path]) -> Iterator[tuple[Statement, list[Mapping[str, Any]]]]:
    for file in files:
        own = connect(f"sqlite:///{file}", durable=False)
        try:
            for table in VIEWS.tables.values():
                insertion = Statement(table.insert(), table.c.keys())
                with reading(own) as db:
                    stored = db.execute(select(table).execution_options(yield_per=PAGE))
                    for rows in stored.mappings().partitions():
                        yield insertion, [dict(row) for row in rows]
        finally:
            own.dispose()


def _has(db: Connection, mark: tuple[str]) -> bool:
    row = own_edition(every(db))
    return row is not None and row.folded == mark


def fold_again(
    url: str, progress: Progress, *, parallel_from: int = PARALLEL_FROM, processes: int | None = None
) -> None:
    """Fold the views of the ledger again; the rest of this process can do nothing else with a ledger.

    A log of at least `parallel_from` events is folded by so many `processes` at most; without a number, by
    as many as there are processors. One that was killed is gone on with, once its rows are in the ledger.
    Raises OlderLedgerError where this version has not the ledger.
    """
    view_tables.fold_again()
    engine = connect(url)
    try:
        with reading(engine) as db:
            _require_live(db)
        count = processes or len(os.sched_getaffinity(0))
        fold_parallel(engine, progress, least=parallel_from, processes=count)
        fold_beside(engine, _take_place, progress)
        drop_remains(engine)
    finally:
        engine.dispose()


def _require_live(db: Connection) -> None:
    edition = live(every(db))
    if edition is None or {*edition.tables} != {_place(name) for name in mine().tables}:
        raise OlderLedgerError(current_number(db), newest_migration())


def _take_place(db: Connection) -> None:
    _require_live(db)
    token, gone = token_hex(4), []
    for table in VIEWS.sorted_tables:
        place = _place(table.name)
        gone.append(f"{place}_{token}")
        drive(db, f'ALTER TABLE "{place}" RENAME TO "{gone[-1]}"')
        drive(db, f'ALTER TABLE "{table.name}" RENAME TO "{place}"')
    drop(db, editions, digest=mine().digest)
    past = {"digest": f"{REBUILT}{token}", "version": mine().version, "state": EditionState.PAST}
    insert(db, editions, {**past, "tables": tuple(gone), "folded": (), "position": 0, "at": database_now(db)})


def _place(name: str) -> str:
    return name.removesuffix(f"_{view_tables.AGAIN}")
