"""The back-up that is made by itself before another version takes a ledger over."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from ledger.db.clock import database_now
from ledger.errors import BackupError
from ledger.lifecycle import schema_copy
from ledger.lifecycle.backup import copy_ledger, require_sound
from ledger.lifecycle.edition import EditionRow

KEPT = 3
PREFIX = "upgrade-from-"


def back_up(db: Connection, live: EditionRow | None, say: Callable[[str], None]) -> None:
    """Copy the ledger, beside it, before the first write of the transaction `db`, whose turn keeps all others
    from writing. One copy of an edition is kept, of the KEPT newest. Raises BackupError.

    The chain of events is not checked: others wait, and a broken ledger is none the worse for a copy. In
    PostgreSQL the copy is there when the transaction is committed.
    """
    edition = PREFIX + ("before-editions" if live is None else f"{live.version}-{live.digest[:8]}")
    name = f"{edition}-{database_now(db):%Y%m%dT%H%M%S}"
    try:
        make = _copy_file if db.dialect.name == "sqlite" else _copy_schema
        copy = make(db, name, edition)
    except (OSError, BackupError) as error:
        raise BackupError(f"the ledger was not upgraded, as no back-up could be made: {error}") from error
    back = f"stop Cardinal, install the version of before and run `cardinal restore {copy} --overwrite-newer`"
    say(f"the ledger was backed up before the upgrade; to go back, {back}")


def _copy_file(db: Connection, name: str, edition: str) -> str:
    # Containers of one ledger share its folder, and not their homes.
    folder = Path(str(db.engine.url.database)).parent
    for left in folder.glob(f"{PREFIX}*.partial"):  # by one that was killed
        left.unlink()
    file = folder / f"{name}.db"
    with copy_ledger(db.engine, file) as partial:
        require_sound(partial)
    for old in _list_superseded([it.stem for it in folder.glob(f"{PREFIX}*.db")], name, edition):
        (folder / f"{old}.db").unlink()
    return str(file)


def _copy_schema(db: Connection, name: str, edition: str) -> str:
    there = [copy.name for copy in schema_copy.copies(db)]
    for old in _list_superseded(there, "", edition):  # one of this very second, too, whose name is taken
        schema_copy.drop_copy(db, old)
    schema_copy.make_copy(db, name)
    return name


def _list_superseded(names: list[str], newest: str, edition: str) -> set[str]:
    """Return the copies that are not kept beside the newest."""
    names = sorted(names, key=lambda name: name.rpartition("-")[2])
    others = [name for name in names if not name.startswith(f"{edition}-")]
    return {*names} - {newest, *others[1 - KEPT :]}
