"""In which repository runs of a card work, for cards whose issue is about another one."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table, select

from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.placement import RepositoryResolved
from ledger.fold import Fold
from ledger.ids import BoardId, CardId
from ledger.rows import columns, keep, one, pick
from ledger.tables import VIEWS
from ledger.views.cards import cards


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """A decision, as in RepositoryResolved."""

    card_id: CardId
    repository: str
    rule: str
    value: str
    problem: str


placements = Table("view_placements", VIEWS, *columns(PlacementRow, "card_id"))
fold = Fold()


def get(db: Connection, card_id: CardId) -> PlacementRow | None:
    """Return the newest decision; None for a card whose issue's own repository was never in question."""
    return one(db, PlacementRow, pick(PlacementRow, placements).where(placements.c.card_id == card_id))


def repositories(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories that cards of the board are about, without those of archived ones, in order."""
    query = select(placements.c.repository).join(cards, cards.c.card_id == placements.c.card_id)
    here = (cards.c.board_id == board_id) & ~cards.c.archived & (placements.c.repository != "")
    return tuple(db.scalars(query.where(here).distinct().order_by(placements.c.repository)))


@fold.on(RepositoryResolved)
def _resolved(db: Connection, _it: Recorded, event: RepositoryResolved) -> None:
    names = ("repository", "rule", "value", "problem")
    keep(db, placements, {"card_id": event.card_id}, {name: getattr(event, name) for name in names})


@fold.on(RepositoryMoved)
def _moved(db: Connection, _it: Recorded, event: RepositoryMoved) -> None:
    mine = placements.c.repository == event.before
    db.execute(placements.update().where(mine).values(repository=event.after))
