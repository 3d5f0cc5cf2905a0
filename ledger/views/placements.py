"""In which repository runs of a card work, for cards whose issue is about another one."""

from dataclasses import dataclass

from sqlalchemy import Connection, Table, select

from ledger.db.rows import columns, keep, many, one, pick
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.board import CardConverted
from ledger.events.placement import RepositoryResolved
from ledger.fold import Fold
from ledger.ids import BoardId, CardId
from ledger.views.cards import CardRow, cards


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """A decision, as in RepositoryResolved; `repository` goes with one that is renamed, `named` does not."""

    card_id: CardId
    repository: str
    named: str
    rule: str
    value: str
    problem: str


placements = Table("view_placements", VIEWS, *columns(PlacementRow, "card_id"))
fold = Fold()


def get(db: Connection, card_id: CardId) -> PlacementRow | None:
    """Return the newest decision; None for a card whose issue's own repository was never in question."""
    return one(db, PlacementRow, pick(PlacementRow, placements).where(placements.c.card_id == card_id))


def cards_in(db: Connection, repository: str) -> tuple[CardRow, ...]:
    """Return the cards that are not archived and have to do with the repository: their issue is there, they
    were placed there, or their open pull request is there.
    """
    placed = select(placements.c.card_id).where(placements.c.repository == repository)
    pulled = (cards.c.pull_repository == repository) & (cards.c.pull_state == "open")
    mine = (cards.c.repository == repository) | cards.c.card_id.in_(placed) | pulled
    return many(db, CardRow, pick(CardRow, cards).where(mine, ~cards.c.archived).order_by(cards.c.card_id))


def asking(db: Connection, board_id: BoardId, limit: int) -> tuple[CardId, ...]:
    """Return the cards of the board for which nothing could be decided, without archived ones."""
    query = select(placements.c.card_id).join(cards, cards.c.card_id == placements.c.card_id)
    here = (cards.c.board_id == board_id) & ~cards.c.archived & (placements.c.problem != "")
    return tuple(CardId(one) for one in db.scalars(query.where(here).order_by(cards.c.card_id).limit(limit)))


def moved_on(db: Connection, board_id: BoardId) -> tuple[tuple[str, str], ...]:
    """Return the repositories of the board's cards that have another name than cards say: now, and then."""
    query = select(placements.c.repository, placements.c.named).join(
        cards, cards.c.card_id == placements.c.card_id
    )
    here = (cards.c.board_id == board_id) & ~cards.c.archived
    other = placements.c.repository != placements.c.named
    found = db.execute(query.where(here, other).distinct().order_by(placements.c.repository))
    return tuple((now, then) for now, then in found)


def repositories(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories that cards of the board are about, without those of archived ones, in order."""
    query = select(placements.c.repository).join(cards, cards.c.card_id == placements.c.card_id)
    here = (cards.c.board_id == board_id) & ~cards.c.archived & (placements.c.repository != "")
    return tuple(db.scalars(query.where(here).distinct().order_by(placements.c.repository)))


@fold.on(RepositoryResolved)
def _resolved(db: Connection, _it: Recorded, event: RepositoryResolved) -> None:
    names = ("repository", "rule", "value", "problem")
    told = {name: getattr(event, name) for name in names}
    keep(db, placements, {"card_id": event.card_id}, {**told, "named": event.repository})


@fold.on(RepositoryMoved)
def _moved(db: Connection, _it: Recorded, event: RepositoryMoved) -> None:
    mine = placements.c.repository == event.before
    db.execute(placements.update().where(mine).values(repository=event.after))


@fold.on(CardConverted)
def _card_moved(db: Connection, _it: Recorded, event: CardConverted) -> None:
    there = (placements.c.card_id == event.card_id) & (placements.c.repository == event.before)
    if event.before:
        db.execute(placements.update().where(there).values(repository=event.repository))
