"""A ledger of somebody else becomes one of this machine: its rows are copied, its views are folded anew."""

from contextlib import closing
from pathlib import Path

from pysqlite3 import dbapi2 as sqlite

from ledger.db import tables
from ledger.db.transactions import WAIT_S, reading, writing
from ledger.errors import BackupError
from ledger.lifecycle.backup import check_copy, copy_rows
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.rebuild import refold
from ledger.log.hash_chain import ChainReport, verify_chain

# Not the leases and sign-ins, which are of another machine's processes and browsers.
TAKEN = (
    *(tables.events, tables.inbox, tables.outbox, tables.cursors),
    *(tables.refresh_requests, tables.reports),
)


def take_in(source: Path, url: str) -> ChainReport:
    """Copy the rows of the SQLite ledger `source` into the empty one at `url`; return the checks.

    `source` may be anybody's, and is migrated. Raises BackupError, BrokenChainError.
    """
    check_copy(source)
    target = open_ledger(url)
    _require_plain(source, Path(str(target.url.database)))
    there = open_ledger(f"sqlite:///{source}")
    try:
        with reading(there) as old, writing(target) as new:
            copy_rows(old, new, TAKEN)
            refold(new)
            return verify_chain(new)
    finally:
        there.dispose()
        target.dispose()


def _require_plain(source: Path, own: Path) -> None:
    """Raise BackupError where the file has triggers or views of its own: they would run when it is used."""
    if _programs(source) - _programs(own):
        raise BackupError(f"{source.name} has triggers or views of its own: it is no ledger of Cardinal")


def _programs(file: Path) -> set[tuple[str, str]]:
    with closing(sqlite.connect(file, timeout=WAIT_S)) as db:
        rows = db.execute("SELECT type, coalesce(sql, '') FROM sqlite_master").fetchall()
    virtual = "CREATE VIRTUAL"
    return {
        (kind, sql) for kind, sql in rows if kind not in ("table", "index") or sql.upper().startswith(virtual)
    }
