"""Where the newest files of each workspace are: the host, and the claim that had them last."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import change, columns, find, keep, list_rows, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.branch import RunChosen
from ledger.events.workspace import WorkspaceCleanAsked, WorkspaceCleaned, WorkspaceKept, WorkspaceTaken
from ledger.fold import Fold
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """The claim that took the workspace last, at `taken_at`; as in WorkspaceTaken.

    `gone`: its host removed it since. `clean_by` asked for that, and `discards` what is not saved; both are
    empty once a run took it, or the host answered. `cleaned_run` had it when it was last removed because
    somebody asked.
    """

    place: str
    run_id: RunId
    generation: int
    host: str
    taken_at: datetime
    gone: bool = False
    clean_by: str = ""
    discards: bool = False
    cleaned_run: str = ""
    cleaned_at: datetime | None = None


workspaces = Table("view_workspaces", VIEWS, *columns(WorkspaceRow, "place"))
fold = Fold()
_UNASKED = {"clean_by": "", "discards": False}


def get(db: Connection, place: str) -> WorkspaceRow | None:
    """Return the newest claim of the workspace; None before the first that recorded it."""
    return find(db, WorkspaceRow, workspaces, place=place)


def hosts_of(db: Connection, places: Iterable[str]) -> dict[str, str]:
    """Return the host of each of the workspaces that some claim took."""
    return {row.place: row.host for row in list_rows(db, WorkspaceRow, workspaces, place=tuple(places))}


def on_host(db: Connection, host: str) -> tuple[WorkspaceRow, ...]:
    """Return the workspaces that are on the host, as far as the ledger knows."""
    return list_rows(db, WorkspaceRow, workspaces, "place", host=host, gone=False)


@fold.on(WorkspaceTaken)
def _fold_workspace_taken(db: Connection, recorded: Recorded, event: WorkspaceTaken) -> None:
    claim = {"run_id": event.run_id, "generation": event.generation, "host": event.host}
    keep(
        db,
        workspaces,
        {"place": event.place},
        {**claim, **_UNASKED, "taken_at": recorded.at, "gone": False},
    )


fold.on(WorkspaceCleanAsked)(
    setter(workspaces, lambda e: {"clean_by": e.by, "discards": e.discards}, "place", "host")
)
fold.on(WorkspaceKept)(setter(workspaces, lambda _: _UNASKED, "place", "host"))


@fold.on(WorkspaceCleaned)
def _fold_workspace_cleaned(db: Connection, recorded: Recorded, event: WorkspaceCleaned) -> None:
    asked = {"cleaned_run": event.run_id, "cleaned_at": recorded.at} if event.by else {}
    key = {"place": event.place, "host": event.host, "run_id": event.run_id}
    change(db, workspaces, key, gone=True, **_UNASKED, **asked)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, recorded: Recorded, event: RunChosen) -> None:
    """Let the card's next run continue from the run's checkpoint, as if its workspace had been cleaned."""
    run = find(db, WorkspaceRow, workspaces, "-taken_at", run_id=event.run_id)
    if run is not None:
        holder = {"run_id": run.run_id, "generation": run.generation, "host": run.host}
        cleaned = {"cleaned_run": run.run_id, "cleaned_at": recorded.at}
        keep(db, workspaces, {"place": event.card_id}, {**holder, "taken_at": recorded.at, **cleaned})
