"""The repository where runs of a card work, for cards whose issue is about another one."""

from typing import Any

from sqlalchemy import Column, Connection, Select, Table, select

from ledger.db.rows import all_rows, change, columns, find, pick, record, setter
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.board import CardConverted
from ledger.events.placement import RepositoryResolved
from ledger.fold import Fold
from ledger.ids import BoardId, CardId
from ledger.rows.cards import CardRow
from ledger.rows.placements import PlacementRow
from ledger.views.cards import cards

placements = Table("view_placements", VIEWS, *columns(PlacementRow, "card_id"))
fold = Fold()


def get(db: Connection, card_id: CardId) -> PlacementRow | None:
    """Return the newest decision; None for a card whose issue's own repository was never in question."""
    return find(db, PlacementRow, placements, card_id=card_id)


def cards_working_in(db: Connection, repository: str) -> tuple[CardRow, ...]:
    """Return the cards on the board whose issue, placement or open pull request is in the repository."""
    placed = select(placements.c.card_id).where(placements.c.repository == repository)
    pulled = (cards.c.pull_repository == repository) & (cards.c.pull_state == "open")
    condition = (cards.c.repository == repository) | cards.c.card_id.in_(placed) | pulled
    return all_rows(
        db, CardRow, pick(CardRow, cards).where(condition, ~cards.c.archived).order_by(cards.c.card_id)
    )


def asking(db: Connection, board_id: BoardId, limit: int) -> tuple[CardId, ...]:
    """Return the cards of the board for which nothing could be decided, without archived ones."""
    query = _on_board(board_id, placements.c.card_id).where(placements.c.problem != "")
    return tuple(CardId(card_id) for card_id in db.scalars(query.order_by(cards.c.card_id).limit(limit)))


def list_renamed(db: Connection, board_id: BoardId) -> tuple[tuple[str, str], ...]:
    """Return the repositories of the board's cards that have another name than cards say: now, and then."""
    query = _on_board(board_id, placements.c.repository, placements.c.named)
    query = query.where(placements.c.repository != placements.c.named)
    rows = db.execute(query.distinct().order_by(placements.c.repository))
    return tuple((now, then) for now, then in rows)


def repositories(db: Connection, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories that cards of the board are about, without those of archived ones, in order."""
    query = _on_board(board_id, placements.c.repository).where(placements.c.repository != "")
    return tuple(db.scalars(query.distinct().order_by(placements.c.repository)))


def _on_board(board_id: BoardId, *wanted: Column[Any]) -> Select[Any]:
    """Return the query for columns of the decisions about the board's cards, without archived ones."""
    joined = select(*wanted).join(cards, cards.c.card_id == placements.c.card_id)
    return joined.where(cards.c.board_id == board_id, ~cards.c.archived)


@fold.on(RepositoryResolved)
def _fold_repository_resolved(db: Connection, recorded: Recorded, event: RepositoryResolved) -> None:
    record(db, placements, recorded, named=event.repository)


fold.on(RepositoryMoved)(setter(placements, lambda event: {"repository": event.after}, repository="before"))


@fold.on(CardConverted)
def _fold_card_converted(db: Connection, _recorded: Recorded, event: CardConverted) -> None:
    if event.before:
        there = {"card_id": event.card_id, "repository": event.before}
        change(db, placements, there, repository=event.repository)
