"""Changes of the tables that are truth, each once and with its record."""

import importlib
import pkgutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import cast

from sqlalchemy import Connection, Table, func, select

from ledger.db.statements import Statement, drive
from ledger.db.tables import migrations
from ledger.lifecycle import migrations as folder

_NUMBER = Statement(select(func.max(migrations.c.number)))
# SQLAlchemy's inspector takes longer for it than all else of an opening.
_TABLES = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = ?",
    "postgresql": "SELECT count(to_regclass(%s))",
}


@cache
def steps() -> tuple[tuple[int, str, Callable[[Connection], None]], ...]:
    """Return number, name and function of every migration, in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    ordered = []
    for name in names:
        module = importlib.import_module(f"{folder.__name__}.{name}")
        ordered.append((int(name[1:5]), name, cast("Callable[[Connection], None]", module.up)))
    return tuple(ordered)


def newest_migration() -> int:
    """Return the number of the newest migration that this code knows."""
    return steps()[-1][0]


def current_number(db: Connection) -> int:
    """Return the number of the newest migration that the ledger has had; 0 for an empty database."""
    return (_NUMBER.scalar(db, {}) or 0) if has_table(db, migrations) else 0


def has_table(db: Connection, table: Table) -> bool:
    return bool(drive(db, _TABLES[db.dialect.name], (table.name,)).fetchone()[0])


def migrate(db: Connection, *, up_to: int | None = None) -> tuple[str, ...]:
    """Carry out the migrations that are due, all or those `up_to` a number, inside `writing`; return their
    names.
    """
    migrations.create(db, checkfirst=True)
    had = current_number(db)
    done = []
    for number, name, up in steps():
        if number > had and (up_to is None or number <= up_to):
            up(db)
            db.execute(migrations.insert().values(number=number, name=name, at=datetime.now(UTC)))
            done.append(name)
    return tuple(done)
