"""Brings a ledger's tables to the shape that this code knows, one transaction per change with its record."""

import importlib
import pkgutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import cast

from sqlalchemy import Connection, Engine, func, inspect, select

from ledger import views
from ledger.db.silence import unbound
from ledger.db.tables import migrations, shapes
from ledger.db.transactions import reading, writing
from ledger.errors import NewerLedgerError, OlderLedgerError
from ledger.lifecycle import migrations as folder
from ledger.lifecycle.rebuild import refold


@cache
def steps() -> tuple[tuple[int, str, Callable[[Connection], None]], ...]:
    """Return number, name and function of every migration, in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    ordered = []
    for name in names:
        module = importlib.import_module(f"{folder.__name__}.{name}")
        ordered.append((int(name[1:5]), name, cast("Callable[[Connection], None]", module.up)))
    return tuple(ordered)


def known_number() -> int:
    """Return the number of the newest migration that this code knows."""
    return steps()[-1][0]


def current_number(db: Connection) -> int:
    """Return the number of the newest migration that the ledger has had; 0 for an empty database."""
    if not inspect(db).has_table(migrations.name):
        return 0
    return db.scalar(select(func.coalesce(func.max(migrations.c.number), 0))) or 0


def migrate(engine: Engine) -> tuple[str, ...]:
    """Return the names of the migrations that were due and are done now; fold the views again if their code
    changed.

    Raises NewerLedgerError when a newer Cardinal wrote the ledger.
    """
    if is_current(engine):
        return ()
    done = []
    for number, name, up in steps():
        with (
            writing(engine) as db,
            unbound(db),
        ):  # asked again under the lock: several processes start together
            migrations.create(db, checkfirst=True)
            if current_number(db) < number:
                up(db)
                db.execute(migrations.insert().values(number=number, name=name, at=datetime.now(UTC)))
                done.append(name)
    with writing(engine) as db, unbound(db):
        if _folded_by(db) != views.digest():
            refold(db)
    return tuple(done)


def is_current(engine: Engine) -> bool:
    """Return whether tables and views have the shape that this code knows. Raises NewerLedgerError."""
    with reading(engine) as db:
        number = current_number(db)
        if number > known_number():
            raise NewerLedgerError(number, known_number())
        return number == known_number() and _folded_by(db) == views.digest()


def require_current(engine: Engine) -> None:
    """Raise OlderLedgerError or NewerLedgerError unless the ledger has the shape that this code knows."""
    if not is_current(engine):
        with reading(engine) as db:
            raise OlderLedgerError(current_number(db), known_number())


def _folded_by(db: Connection) -> str | None:
    return db.scalar(select(shapes.c.digest).where(shapes.c.name == "views"))
