"""The pull requests that GitHub is to merge by itself: at which commit, and how."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, keep, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
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
    """Return what GitHub is to merge for the card; None when it is to merge nothing."""
    return one(db, MergeRow, pick(MergeRow, merges).where(merges.c.card_id == card_id))


@fold.on(MergeAwaited)
def _awaited(db: Connection, _it: Recorded, event: MergeAwaited) -> None:
    if event.how:
        wanted = {"number": event.number, "how": event.how, "head": event.head}
        keep(db, merges, {"card_id": event.card_id}, wanted)
    else:
        _forget(db, event.card_id)


@fold.on(PullChanged)
def _changed(db: Connection, _it: Recorded, event: PullChanged) -> None:
    if event.state != "open":
        _forget(db, event.card_id)


@fold.on(PullOpened)
def _opened(db: Connection, _it: Recorded, event: PullOpened) -> None:
    _forget(db, event.card_id)


def _forget(db: Connection, card_id: CardId) -> None:
    db.execute(merges.delete().where(merges.c.card_id == card_id))
