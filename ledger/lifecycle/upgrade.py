"""Upgrade of a ledger: changed views are folded beside the live ones while work goes on, then all switch.

The older version works with its own tables until one short transaction makes the migrations that are due and
takes the ledger over. A killed upgrade is continued by the next.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection, Engine, Table, inspect
from sqlalchemy.exc import OperationalError

from ledger import views
from ledger.db.clock import database_now
from ledger.db.rows import change, drop, keep
from ledger.db.silence import unbound
from ledger.db.statements import drive, make_tables
from ledger.db.tables import VIEW_PREFIX, VIEWS, EditionState, editions
from ledger.db.transactions import beside, reading, writing
from ledger.errors import NewerLedgerError
from ledger.lifecycle.edition import EditionRow, edition_error, every, is_outdated, live, mine, own_edition
from ledger.lifecycle.migrate import current_number, migrate, newest_migration
from ledger.lifecycle.migrations.m0007_editions import make_table
from ledger.log.event_store import last_seq, read
from ledger.view_tables import AGAIN, DIGEST_CHARS, name_indexes

PAGE = 250  # events folded under one lock
# Who waits for SQLite's lock comes next, see ledger.db.transactions; but not in an older Cardinal, nor
# without a write-ahead log. Those ask every 100 ms at the latest, and have WAIT_S to hit one of many pauses.
PAUSE_S = 0.005
ABANDONED_AFTER = timedelta(days=1)  # since its newest page
BEFORE = "before editions"  # stands for the Cardinal that knew none
REBUILT = "rebuilt "  # begins the name of the views that a rebuild replaced: no edition

Progress = Callable[[int, int], None]  # gets the events that are folded, and all
# Gets the transaction that takes the ledger over, before its first write, and the edition that has it so far.
Before = Callable[[Connection, EditionRow | None], None]


def is_current(engine: Engine) -> bool:
    """Return whether the ledger takes writes of this code. Raises NewerLedgerError."""
    with reading(engine) as db:
        number = current_number(db)
        if number > newest_migration():
            raise NewerLedgerError(number, newest_migration())
        row = own_edition(every(db))
        return row is not None and row.state is EditionState.LIVE


def require_current(engine: Engine) -> None:
    """Raise OlderLedgerError, NewerLedgerError or OutdatedError unless the ledger is this code's."""
    if not is_current(engine):
        with reading(engine) as db:
            raise edition_error(db)


def upgrade_ledger(
    engine: Engine,
    progress: Progress | None = None,
    *,
    before: Before | None = None,
    back: bool = False,
    most: int = PAGE,
) -> tuple[str, ...]:
    """Make the ledger that of this code; return the names of the migrations that were due and are done now.

    `before` is called once the ledger is about to go over from another edition; an error of it prevents that.
    `most` events are folded under one lock. Raises NewerLedgerError, and OutdatedError where another edition
    took over from this one, unless the ledger goes `back` to it.
    """
    done: tuple[str, ...] | None = () if is_current(engine) else None
    if done is None:
        done = fold_beside(engine, _take_over, progress, before=before, back=back, most=most)
    drop_remains(engine)
    return done


def fold_beside(
    engine: Engine,
    take_over: Callable[[Connection], None],
    progress: Progress | None = None,
    *,
    before: Before | None = None,
    back: bool = False,
    most: int = PAGE,
) -> tuple[str, ...]:
    """Upgrade as `upgrade` does, whatever is live; `take_over` ends the transaction of the last page."""
    done: tuple[str, ...] | None = None
    while done is None:
        with beside(engine) as db:
            rows = every(db)
            _refuse_outdated(db, rows, back)
            is_new = prepare(db, rows)
            count, position = (most, 0) if is_new else _fold_page(db, rows, most)
            last = last_seq(db) if position else 0
        if position and progress is not None:
            progress(position, last)
        if count < most:
            done = _switch(engine, take_over, before, back, most)
        else:
            give_way(engine)
    return done


def give_way(engine: Engine) -> None:
    """Let SQLite's other writers have their turn."""
    if engine.dialect.name == "sqlite":
        time.sleep(PAUSE_S)


def _refuse_outdated(db: Connection, rows: tuple[EditionRow, ...], back: bool) -> None:
    if is_outdated(rows) and not back:
        raise edition_error(db)


def _fold_page(db: Connection, rows: tuple[EditionRow, ...], most: int) -> tuple[int, int]:
    """Fold the next events into this code's new tables; return how many those were, and the last one."""
    if not is_prepared(rows):  # by nobody, or others changed what is live
        return 0, 0
    position, only = _position(rows), frozenset(_views_of(_new_tables(rows)))
    page = read(db, after=position, limit=most) if only else ()
    views.fold_all(db, page, only)
    position = page[-1].seq if page else position
    change(db, editions, {"digest": mine().digest}, position=position, at=database_now(db))
    return len(page), position


def _switch(
    engine: Engine, take_over: Callable[[Connection], None], before: Before | None, back: bool, most: int
) -> tuple[str, ...] | None:
    """Take the ledger over in one transaction; None while more than a page of events is to be folded."""
    with writing(engine, alone=True) as db, unbound(db):
        rows = every(db)
        _refuse_outdated(db, rows, back)
        goes_over = current_number(db) and not _is_live(rows)
        if goes_over and _is_behind(db, rows, most):
            return None
        if goes_over and before is not None:
            before(db, live(rows))
        done = migrate(db)
        prepare(db, every(db))  # of an empty ledger, only now
        _fold_page(db, every(db), most)
        take_over(db)
    return done


def _take_over(db: Connection) -> None:
    rows = every(db)
    if _is_live(rows):
        return
    edition = live(rows)
    if edition is not None:
        change(db, editions, {"digest": edition.digest}, state=EditionState.PAST, at=database_now(db))
    else:
        tables = {name for name in inspect(db).get_table_names() if name.startswith(VIEW_PREFIX)}
        past: dict[str, object] = {"version": BEFORE, "state": EditionState.PAST, "folded": (), "position": 0}
        past |= {"tables": tuple(sorted(tables - mine().tables)), "at": database_now(db)}
        keep(db, editions, {"digest": BEFORE}, past)
    change(db, editions, {"digest": mine().digest}, state=EditionState.LIVE, at=database_now(db))


def take_over_restored(db: Connection) -> None:
    """Fold the views of a ledger without any, in the caller's transaction, and take it over."""
    prepare(db, every(db))
    while _fold_page(db, every(db), PAGE)[0]:
        pass
    _take_over(db)


def prepare(db: Connection, rows: tuple[EditionRow, ...]) -> bool:
    """Make this code's new tables, unless they are there and fold on; return whether they are new."""
    if not current_number(db) or _is_live(rows) or is_prepared(rows):
        return False
    make_table(db)
    new, there = _new_tables(rows), {*inspect(db).get_table_names()}
    left = [table for table in new if table.name in there]  # by an upgrade that others overtook
    VIEWS.drop_all(db, tables=left, checkfirst=False)
    name_indexes(new)
    make_tables(db, new)
    row: dict[str, object] = {"version": mine().version, "state": EditionState.FOLDING, "position": 0}
    row |= {"tables": tuple(sorted(mine().tables)), "folded": _views_of(new), "at": database_now(db)}
    keep(db, editions, {"digest": mine().digest}, row)
    return True


def drop_remains(engine: Engine) -> None:
    """Drop the tables of past editions and of abandoned ones, each in a transaction of its own."""
    with reading(engine) as db:
        rows, now = every(db), database_now(db)
    left = {row for row in rows if row.state is EditionState.FOLDING and now - row.at > ABANDONED_AFTER}
    past = {row for row in rows if row.state is EditionState.PAST and row.tables}
    used = {name for row in {*rows} - left - past for name in row.tables}
    for row in left | past:
        try:
            for name in sorted({*row.tables} - used):
                with beside(engine) as db:
                    drive(db, f'DROP TABLE IF EXISTS "{name}"')
            with beside(engine) as db:
                change(db, editions, {"digest": row.digest}, tables=())
                drop(db, editions, digest=row.digest, state=EditionState.FOLDING)
                if row.digest.startswith(REBUILT):
                    drop(db, editions, digest=row.digest)
        except OperationalError:  # somebody still reads them: the next start drops them
            return


def _new_tables(rows: tuple[EditionRow, ...]) -> tuple[Table, ...]:
    edition = live(rows)
    known = {*edition.tables} if edition is not None else set()
    return tuple(table for table in VIEWS.tables.values() if table.name not in known)


def _views_of(tables: tuple[Table, ...]) -> tuple[str, ...]:
    """Return the views that have these tables, with all that fold together with them."""
    named = {table.name.removesuffix(f"_{AGAIN}").rpartition("_")[2] for table in tables}
    return tuple(name for name, digest in views.digests().items() if digest[:DIGEST_CHARS] in named)


def _list_folded(rows: tuple[EditionRow, ...]) -> tuple[str, ...] | None:
    row = own_edition(rows)
    return None if row is None or row.state is not EditionState.FOLDING else row.folded


def is_prepared(rows: tuple[EditionRow, ...]) -> bool:
    """Return whether this code's new tables are there, folded up to the edition's position."""
    return _list_folded(rows) == _views_of(_new_tables(rows))


def _is_behind(db: Connection, rows: tuple[EditionRow, ...], most: int) -> bool:
    if not is_prepared(rows):
        return True
    return bool(_new_tables(rows)) and last_seq(db) - _position(rows) > most


def _position(rows: tuple[EditionRow, ...]) -> int:
    row = own_edition(rows)
    return 0 if row is None else row.position


def _is_live(rows: tuple[EditionRow, ...]) -> bool:
    row = own_edition(rows)
    return row is not None and row.state is EditionState.LIVE
