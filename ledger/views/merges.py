"""The pull requests that GitHub is to merge by itself: at which commit, and how."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, drop, find, record
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.branch import RunChosen
from ledger.events.pull import MergeAwaited, PullChanged, PullOpened
from ledger.fold import Fold
from ledger.ids import CardId


@dataclass(frozen=True, slots=True)
class MergeRow:
    """A card whose pull request is to be merged at `head`. `how`: queue or auto."""

    card_id: CardId
    number: int
    how: str
    head: str


merges = Table("view_merges", VIEWS, *columns(MergeRow, "card_id"))
fold = Fold()


def get(db: Connection, card_id: CardId) -> MergeRow | None:
    return find(db, MergeRow, merges, card_id=card_id)


@fold.on(MergeAwaited)
def _fold_merge_awaited(db: Connection, recorded: Recorded, event: MergeAwaited) -> None:
    if event.how:
        record(db, merges, recorded)
    else:
        drop(db, merges, card_id=event.card_id)


@fold.on(PullChanged)
def _fold_pull_changed(db: Connection, _recorded: Recorded, event: PullChanged) -> None:
    if event.state != "open":
        drop(db, merges, card_id=event.card_id)


@fold.on(PullOpened)
def _fold_pull_opened(db: Connection, _recorded: Recorded, event: PullOpened) -> None:
    drop(db, merges, card_id=event.card_id)


@fold.on(RunChosen)
def _fold_run_chosen(db: Connection, _recorded: Recorded, event: RunChosen) -> None:
    drop(db, merges, card_id=event.card_id)
