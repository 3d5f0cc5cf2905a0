"""A ledger of somebody else becomes one of this machine: its rows are copied, its views are folded anew."""

from pathlib import Path

from ledger.db import tables
from ledger.db.transactions import reading, writing
from ledger.lifecycle.backup import check_copy, copy_rows
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.plain_schema import require_plain
from ledger.lifecycle.rebuild import refold
from ledger.log.hash_chain import ChainReport, verify_chain

# Not the leases and sign-ins, which are of another machine's processes and browsers.
TAKEN = (
    *(tables.events, tables.inbox, tables.outbox, tables.cursors),
    *(tables.refresh_requests, tables.change_reports),
)


def take_in(source: Path, url: str) -> ChainReport:
    """Copy the rows of the SQLite ledger `source` into the empty one at `url`; return the checks.

    `source` may be anybody's, and is migrated. Raises BackupError, BrokenChainError.
    """
    require_plain(source)
    check_copy(source)
    target = open_ledger(url)
    there = open_ledger(f"sqlite:///{source}")
    try:
        with reading(there) as old, writing(target) as new:
            copy_rows(old, new, TAKEN)
            refold(new)
            return verify_chain(new)
    finally:
        there.dispose()
        target.dispose()
