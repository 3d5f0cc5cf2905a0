"""The edition of this code: its views, event kinds, migrations; a ledger takes writes of one edition only."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection, Select, select

from ledger import codec, views
from ledger.db.rows import list_rows
from ledger.db.statements import statement
from ledger.db.tables import VIEWS, EditionState, editions
from ledger.errors import OlderLedgerError, OutdatedError
from ledger.lifecycle.migrate import current_number, has_table, newest_migration, steps
from ledger.log.event_store import last_seq
from ledger.view_tables import AGAIN, folds_again

DISTRIBUTION = "cardinal-board"


@dataclass(frozen=True, slots=True)
class EditionRow:
    """An edition that a ledger knows; `position` is the event up to which the views `folded` are folded.

    `tables`: those of its views in the database; none once they were dropped.
    """

    digest: str
    version: str
    state: EditionState
    tables: tuple[str, ...]
    folded: tuple[str, ...]
    position: int
    at: datetime

    @property
    def name(self) -> str:
        return f"{self.version}, edition {self.digest[:8]}"


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition of code. `tables`: those of its views, as the database names them."""

    digest: str
    version: str
    tables: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.version}, edition {self.digest[:8]}"


@cache
def mine() -> Edition:
    parts = [f"{name} {digest}" for name, digest in sorted(views.digests().items())]
    parts += [*codec.kinds(), *(name for _, name, _ in steps())]
    parts += [AGAIN] if folds_again() else []
    tables = frozenset(table.name for table in VIEWS.tables.values())
    return Edition(sha256("\n".join(parts).encode()).hexdigest(), version(DISTRIBUTION), tables)


def every(db: Connection) -> tuple[EditionRow, ...]:
    """Return the editions that the ledger knows, the newest step last; none before there were any."""
    if not has_table(db, editions):
        return ()
    return list_rows(db, EditionRow, editions, "at")


@statement
def _state(digest: Any) -> Select[Any]:
    return select(editions.c.state).where(editions.c.digest == digest)


def live(rows: tuple[EditionRow, ...]) -> EditionRow | None:
    """Return the edition whose writes the ledger takes; None before there were editions."""
    return next((row for row in rows if row.state is EditionState.LIVE), None)


def own_edition(rows: tuple[EditionRow, ...]) -> EditionRow | None:
    """Return the row of the code that runs; None when the ledger never saw it."""
    return next((row for row in rows if row.digest == mine().digest), None)


def is_outdated(rows: tuple[EditionRow, ...]) -> bool:
    """Return whether another edition took the ledger over from this one, or is of a later version."""
    edition, here = live(rows), own_edition(rows)
    if edition is None or edition == here:
        return False
    was_live = here is not None and here.state is EditionState.PAST
    return was_live or _order(mine().version) < _order(edition.version)


def require_live(db: Connection) -> None:
    """Raise OutdatedError or OlderLedgerError unless the ledger takes writes of this edition."""
    if _state.scalar(db, {"digest": mine().digest}) != EditionState.LIVE:
        raise edition_error(db)


def edition_error(db: Connection) -> OutdatedError | OlderLedgerError:
    """Return why the ledger does not take writes of this edition."""
    rows = every(db)
    edition, here = live(rows), own_edition(rows)
    if edition is not None and is_outdated(rows):
        return OutdatedError(mine().name, edition.name)
    progress = ""
    if here is not None and here.state is EditionState.FOLDING:
        progress = f"this version's views are folded up to event {here.position} of {last_seq(db)}"
    return OlderLedgerError(current_number(db), newest_migration(), progress)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
