"""Copies of a ledger in PostgreSQL: each is a schema of the same database, and comes back by its name.

Views, which are folded from events, and indexes are not copied.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError

from ledger.db.silence import unbound
from ledger.db.statements import drive
from ledger.db.tables import CORE, VIEW_PREFIX, editions, migrations
from ledger.db.tables import hosts as hosts_table
from ledger.db.transactions import reading, writing
from ledger.errors import BackupError, NewerLedgerError
from ledger.lifecycle.migrate import current_number, has_table, migrate, newest_migration
from ledger.lifecycle.migrations.m0013_table_names import TABLES as RENAMED
from ledger.lifecycle.open import connect
from ledger.lifecycle.upgrade import take_over_restored
from ledger.log.event_store import last_seq
from ledger.log.hash_chain import ChainReport, verify_chain
from ledger.queue.hosts import DEAD_AFTER, list_hosts
from ledger.queue.restored import mark_restored

FORMER = {*RENAMED, "shapes"}  # tables that only older ledgers have
DENIED = "42501"  # postgresql.org/docs/current/errcodes-appendix.html
NEXT_ENTRY = """
SELECT setval(pg_get_serial_sequence('outbox', 'entry_id'),
              (SELECT coalesce(max(entry_id), 0) + 1 FROM outbox), false)
"""
_COPIES = """
SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace
WHERE starts_with(nspname, 'upgrade-from-') AND starts_with(obj_description(oid, 'pg_namespace'), '{"of": ')
ORDER BY nspname
"""
_FUNCTIONS = """
SELECT proname FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname = current_schema() AND starts_with(proname, 'cardinal_')
"""
_COLUMNS = """
SELECT table_name, string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
WHERE table_schema = %s GROUP BY table_name
"""


@dataclass(frozen=True, slots=True)
class SchemaCopy:
    """A copy, by its schema's name. `later`: tables that the version which took the ledger over made then."""

    name: str
    later: tuple[str, ...]


def make_copy(db: Connection, name: str) -> None:
    """Copy the ledger's tables to a new schema, in the caller's transaction. Raises BackupError."""
    there, known = {*inspect(db).get_table_names()}, {table.name for table in CORE.sorted_tables}
    note = json.dumps({"of": _own_schema(db), "later": sorted(known - there)}).replace("'", "''")
    try:
        drive(db, f'CREATE SCHEMA "{name}"')
        for table in sorted((known | FORMER) & there):
            drive(db, f'CREATE TABLE "{name}"."{table}" AS TABLE "{table}"')
        drive(db, f"COMMENT ON SCHEMA \"{name}\" IS '{note}'")
    except DBAPIError as error:
        url = db.engine.url
        step = "make room on its disk"
        if getattr(error.orig, "sqlstate", None) == DENIED:
            step = f'as its owner, run `GRANT CREATE ON DATABASE "{url.database}" TO "{url.username}"`'
        raise BackupError(f"PostgreSQL says: {error.orig}; {step}") from error


def drop_copy(db: Connection, name: str) -> None:
    """Drop a copy, in the caller's transaction."""
    drive(db, f'DROP SCHEMA "{name}" CASCADE')


def copies(db: Connection) -> tuple[SchemaCopy, ...]:
    """Return the copies of this very ledger: a database may have several, each in a schema of its own."""
    notes = [(name, json.loads(note)) for name, note in drive(db, _COPIES).fetchall()]
    own = _own_schema(db)
    return tuple(SchemaCopy(name, tuple(note["later"])) for name, note in notes if note.get("of") == own)


def require_copy(url: str, name: str) -> None:
    """Raise BackupError unless the ledger has a copy of that name."""
    engine = connect(url)
    try:
        with reading(engine) as db:
            _require_copy(db, name)
    finally:
        engine.dispose()


def put_back(url: str, name: str, *, host: str, overwrite_newer: bool) -> ChainReport:
    """Put the copy in the place of the ledger, all or nothing; it stays. Return the check of its chain.

    `host` is this one, on which nothing works. Raises NewerLedgerError when the ledger has more events than
    the copy, unless `overwrite_newer`, or the copy is of a newer version; BackupError where another host
    lives, BrokenChainError.
    """
    engine = connect(url)
    try:
        with writing(engine, alone=True) as db, unbound(db):
            # Nothing waits for this turn, and a page may take longer to fold than a worker may hesitate.
            drive(db, "SET LOCAL idle_in_transaction_session_timeout = 0")
            _require_copy(db, name)
            _require_rest(db, host)
            with _within(db, name):
                number, report = current_number(db), verify_chain(db)
            if number > newest_migration():
                raise NewerLedgerError(number, newest_migration())
            if (last := last_seq(db)) > report.events and not overwrite_newer:
                raise NewerLedgerError(last, report.events, "event")
            _clear(db)
            migrate(db, up_to=number)
            for table, columns in drive(db, _COLUMNS, (name,)).fetchall():
                if table not in {migrations.name, editions.name}:
                    rows = f'SELECT {columns} FROM "{name}"."{table}"'  # noqa: S608 -- names of our own
                    drive(db, f'INSERT INTO "{table}" ({columns}) {rows}')
            drive(db, NEXT_ENTRY)
            migrate(db)
            take_over_restored(db)
            mark_restored(db)
            return report
    finally:
        engine.dispose()


def _require_copy(db: Connection, name: str) -> None:
    there = [copy.name for copy in copies(db)]
    if name not in there:
        known = f"it has {', '.join(there)}" if there else "no upgrade made one"
        raise BackupError(f"{name} is no file, and no copy in the ledger's database: {known}")


def _require_rest(db: Connection, host: str) -> None:
    """Raise BackupError where another host works on the ledger; this one's programs are stopped."""
    if not has_table(db, hosts_table):
        return
    hosts = list_hosts(db)
    if alive := [row.name for row in hosts.rows if row.name != host and hosts.is_alive(row)]:
        after_s = DEAD_AFTER.total_seconds()
        raise BackupError(
            f"{', '.join(alive)} worked on this ledger within the last {after_s:.0f} s: "
            "stop Cardinal there, and run the same again then"
        )


@contextmanager
def _within(db: Connection, name: str) -> Iterator[None]:
    """Let names of tables mean those of a copy."""
    path = drive(db, "SHOW search_path").fetchone()[0]
    drive(db, "SELECT set_config('search_path', %s, true)", (f'"{name}"',))
    yield
    drive(db, "SELECT set_config('search_path', %s, true)", (path,))


def _clear(db: Connection) -> None:
    """Drop the ledger's tables, those that newer versions made among them, and nobody else's."""
    own = {*(table.name for table in CORE.sorted_tables), *FORMER}
    own.update(*(copy.later for copy in copies(db)))  # several may have had it since the copy
    for table in inspect(db).get_table_names():
        if table in own or table.startswith(VIEW_PREFIX):
            drive(db, f'DROP TABLE "{table}" CASCADE')
    for (function,) in drive(db, _FUNCTIONS).fetchall():
        drive(db, f'DROP FUNCTION "{function}"')


def _own_schema(db: Connection) -> str:
    return str(drive(db, "SELECT current_schema()").fetchone()[0])
