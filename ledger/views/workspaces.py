"""Where the newest files of each workspace are: the host, and the claim that had them last."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, find, list_rows, recorder
from ledger.db.tables import VIEWS
from ledger.events.workspace import WorkspaceTaken
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """The claim that took the workspace last; as in WorkspaceTaken."""

    place: str
    run_id: RunId
    generation: int
    host: str


workspaces = Table("view_workspaces", VIEWS, *columns(WorkspaceRow, "place"))
fold = Fold()


def get(db: Connection, place: str) -> WorkspaceRow | None:
    """Return the newest claim of the workspace; None before the first that recorded it."""
    return find(db, WorkspaceRow, workspaces, place=place)


def hosts_of(db: Connection, places: Iterable[str]) -> dict[str, str]:
    """Return the host of each of the workspaces that some claim took."""
    return {row.place: row.host for row in list_rows(db, WorkspaceRow, workspaces, place=tuple(places))}


fold.on(WorkspaceTaken)(recorder(workspaces))
