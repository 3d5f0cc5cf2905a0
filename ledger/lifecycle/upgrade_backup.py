"""The back-up that is made by itself before another version takes a ledger over."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from ledger.db.clock import database_now
from ledger.errors import BackupError
from ledger.lifecycle.backup import copied, require_sound
from ledger.lifecycle.edition import EditionRow

KEPT = 3
PREFIX = "upgrade-from-"


def back_up(db: Connection, live: EditionRow | None, say: Callable[[str], None]) -> None:
    """Copy a SQLite ledger, beside it, before the first write of the transaction `db`, whose turn keeps all
    others from writing. One copy of an edition is kept, of the KEPT newest. Raises BackupError.

    The chain of events is not checked: others wait, and a broken ledger is none the worse for a copy.
    """
    if db.dialect.name != "sqlite":
        say("Cardinal makes no back-up of a ledger in PostgreSQL: only one of pg_dump from before leads back")
        return
    # Containers of one ledger share its folder, and not their homes.
    folder = Path(str(db.engine.url.database)).parent
    edition = PREFIX + ("before-editions" if live is None else f"{live.version}-{live.digest[:8]}")
    file = folder / f"{edition}-{database_now(db):%Y%m%dT%H%M%S}.db"
    try:
        for left in folder.glob(f"{PREFIX}*.partial"):  # by one that was killed
            left.unlink()
        with copied(db.engine, file) as partial:
            require_sound(partial)
        _drop_older(file, edition)
    except (OSError, BackupError) as error:
        raise BackupError(f"the ledger was not upgraded, as no back-up could be made: {error}") from error
    back = f"stop Cardinal, install the version of before and run `cardinal restore {file} --overwrite-newer`"
    say(f"the ledger was backed up before the upgrade; to go back, {back}")


def _drop_older(newest: Path, edition: str) -> None:
    files = sorted(newest.parent.glob(f"{PREFIX}*.db"), key=lambda file: file.stem.rpartition("-")[2])
    others = [file for file in files if not file.name.startswith(f"{edition}-")]
    for file in {*files} - {newest, *others[1 - KEPT :]}:
        file.unlink()
