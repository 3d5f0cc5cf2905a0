"""Rebuild while work goes on: views are folded beside those at work, and take their place in one transaction.

The tables of this process have names of their own meanwhile. The code is the same, so nobody is refused.
"""

import os
from secrets import token_hex

from sqlalchemy import Connection

from ledger import view_tables
from ledger.db.clock import database_now
from ledger.db.rows import drop, insert
from ledger.db.statements import drive
from ledger.db.tables import VIEWS, EditionState, editions
from ledger.db.transactions import reading
from ledger.errors import OlderLedgerError
from ledger.lifecycle.edition import every, live, mine
from ledger.lifecycle.migrate import current_number, newest_migration
from ledger.lifecycle.open import connect
from ledger.lifecycle.parallel_fold import fold_parallel
from ledger.lifecycle.upgrade import REBUILT, Progress, drop_remains, fold_beside

PARALLEL_FROM = 5_000  # events: of fewer, processes and copies cost more time than they save


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
    there = live(every(db))
    if there is None or {*there.tables} != {_place(name) for name in mine().tables}:
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
