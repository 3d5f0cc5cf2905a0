"""When a card's pull request was merged last in each repository: the base is another one since."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, drop, keep, value
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.pull import PullChanged
from ledger.fold import Fold
from ledger.views import cards


@dataclass(frozen=True, slots=True)
class BaseMoveRow:
    """The newest merge of a repository."""

    repository: str
    at: datetime


base_moves = Table("view_base_moves", VIEWS, *columns(BaseMoveRow, "repository"))
fold = Fold()


def last(db: Connection, repository: str) -> datetime | None:
    """Return when a pull request of a card was seen merged last; None for never."""
    at: datetime | None = value(db, base_moves.c.at, repository=repository)
    return at


@fold.on(PullChanged)
def _fold_pull_changed(db: Connection, recorded: Recorded, event: PullChanged) -> None:
    card = cards.get(db, event.card_id)
    if event.state == "merged" and card is not None and card.pull_repository is not None:
        keep(db, base_moves, {"repository": card.pull_repository}, {"at": recorded.at})


@fold.on(RepositoryMoved)
def _fold_repository_moved(db: Connection, _recorded: Recorded, event: RepositoryMoved) -> None:
    merges = [at for name in (event.before, event.after) if (at := last(db, name)) is not None]
    drop(db, base_moves, repository=event.before)
    if merges:
        keep(db, base_moves, {"repository": event.after}, {"at": max(merges)})
