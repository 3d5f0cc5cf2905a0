"""Notes of the agents in each run."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.run import Noted
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class NoteRow:
    """One note; `seq` is its event's."""

    run_id: RunId
    seq: int
    text: str


notes = Table("view_notes", VIEWS, *columns(NoteRow, "run_id", "seq", long=("text",)))
fold = Fold()
fold.on(Noted)(recorder(notes))


def newest(db: Connection, run_ids: Iterable[RunId], limit: int) -> tuple[NoteRow, ...]:
    """Return the notes of those runs, at most so many of the newest, the oldest first."""
    return tuple(reversed(list_rows(db, NoteRow, notes, "-seq", limit=limit, run_id=tuple(run_ids))))
