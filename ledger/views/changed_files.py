"""The files that the work on each card changes, as git said last."""

from dataclasses import dataclass

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import columns, drop, find, keep, setter, values
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.branch import RunChosen
from ledger.events.run import RERUN, BranchExported
from ledger.events.stage import SnapshotTaken
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.views import runs


@dataclass(frozen=True, slots=True)
class ChangedFilesRow:
    """The files of a card's branch, as its run `run_id` left them. Very large changes are truncated."""

    card_id: CardId
    run_id: RunId
    repository: str
    files: tuple[str, ...]


changed_files = Table(
    "view_changed_files",
    VIEWS,
    *columns(ChangedFilesRow, "card_id", long=("files",)),
    Index("view_changed_files_repository", "repository"),
)
fold = Fold()


def of_card(db: Connection, card_id: CardId) -> ChangedFilesRow | None:
    """Return the files that the card's work changes; None while none are known."""
    return find(db, ChangedFilesRow, changed_files, card_id=card_id)


def list_changing_cards(db: Connection, card_ids: tuple[CardId, ...]) -> frozenset[CardId]:
    """Return those of the cards whose work is known to change files."""
    return frozenset(values(db, changed_files.c.card_id, card_id=card_ids))


@fold.on(BranchExported)
def _fold_branch_exported(db: Connection, _recorded: Recorded, event: BranchExported) -> None:
    if event.files:
        _keep(db, event.run_id, event.files)


@fold.on(SnapshotTaken)
def _fold_snapshot_taken(db: Connection, _recorded: Recorded, event: SnapshotTaken) -> None:
    if event.files:  # those of one stage: the earlier ones and the branch have theirs
        _keep(db, event.run_id, event.files, add=True)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    drop(db, changed_files, card_id=event.card_id)  # of another run: its own are known when it is worked on


fold.on(RepositoryMoved)(setter(changed_files, lambda e: {"repository": e.after}, repository="before"))


def _keep(db: Connection, run_id: RunId, files: tuple[str, ...], *, add: bool = False) -> None:
    run = runs.get(db, run_id)
    if run is None or run.kind == RERUN or run.folder:  # beside its branch, or none of its files
        return
    known_changed_files = of_card(db, run.card_id) if add else None
    if known_changed_files is not None and known_changed_files.repository == run.repository:
        files = tuple(dict.fromkeys((*known_changed_files.files, *files)))
    row = {"run_id": run_id, "repository": run.repository, "files": files}
    keep(db, changed_files, {"card_id": run.card_id}, row)
