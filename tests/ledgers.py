"""New ledgers for tests: copies of one that was migrated once in this process, and not synced to the disk."""

import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, make_url

from ledger.db.clock import CLOCK
from ledger.lifecycle.open import open_ledger


class _Compiled(dict[tuple[Any, ...], Any]):
    """What SQLAlchemy compiled, for all ledgers of a kind of database: each engine would compile it anew."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


_COMPILED = _Compiled()


@cache
def _template() -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="cardinal-ledger-")
    open_ledger(f"sqlite:///{folder.name}/ledger.db").dispose()
    return folder


def new_ledger(url: str, *, durable: bool = False) -> Engine:
    """Return the ledger at `url`, made if it is not there.

    A power cut loses what was written last, unless it is `durable`.
    """
    place = make_url(url)
    if place.get_backend_name() == "sqlite" and not (path := Path(str(place.database))).exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(f"{_template().name}/ledger.db", path)
    engine = open_ledger(url, durable=durable)
    engine.update_execution_options(compiled_cache=_COMPILED)
    return engine


class Hand:
    """A clock that stands where a test sets it, in place of the database's."""

    def __init__(self, engine: Engine, at: datetime) -> None:
        self.at = at
        set_clock(engine, self)

    def __call__(self) -> datetime:
        return self.at


def set_clock(engine: Engine, clock: Callable[[], datetime]) -> None:
    """Let this clock be that of the engine's database from now on."""
    engine.update_execution_options(**{CLOCK: clock})
