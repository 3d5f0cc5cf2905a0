"""The cards that agents proposed for a card, and the outcome of each."""

from dataclasses import dataclass

from sqlalchemy import Connection, Index, Table

from ledger.db.rows import change, columns, keep, list_rows, setter, value
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.access import RepositoryMoved
from ledger.events.board import CardConverted
from ledger.events.publication import EntryGivenUp
from ledger.events.related import CardMade, CardProposed
from ledger.fold import Fold
from ledger.ids import CardId, RunId
from ledger.rows.cards import CardRow
from ledger.views.cards import get as get_card
from ledger.views.links import issue_ref_of
from ledger.views.runs import runs

MAX_DEPTH = 20  # no policy allows as many


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A card that a run of `card_id` proposed; `number` is 0 until it is an issue. `state`: wanted, made or
    given_up.
    """

    run_id: RunId
    proposal: int
    card_id: CardId
    title: str
    repository: str
    number: int
    state: str


children = Table(
    "view_children",
    VIEWS,
    *columns(ChildRow, "run_id", "proposal"),
    Index("view_children_card", "card_id"),
    Index("view_children_issue", "repository", "number"),
)
fold = Fold()


def of_card(db: Connection, card_id: CardId) -> tuple[ChildRow, ...]:
    """Return the cards that runs of the card proposed, in the order of proposals."""
    return list_rows(db, ChildRow, children, "run_id", "proposal", card_id=card_id)


def proposing_card(db: Connection, repository: str, number: int) -> CardId | None:
    """Return the card whose run proposed the issue; None for an issue of people."""
    card_id: CardId | None = value(db, children.c.card_id, repository=repository, number=number)
    return card_id


def depth_of(db: Connection, card: CardRow) -> int:
    """Return how many cards stand above the card whose agents made the next one; at most MAX_DEPTH."""
    above: CardRow | None = card
    for depth in range(MAX_DEPTH):
        parent_id = proposing_card(db, above.repository or "", above.number or -1) if above else None
        if parent_id is None:
            return depth
        above = get_card(db, parent_id)
    return MAX_DEPTH


@fold.on(CardProposed)
def _fold_card_proposed(db: Connection, _recorded: Recorded, event: CardProposed) -> None:
    if not event.repository:  # else people are asked first
        _keep(db, event, title=event.title, repository="", number=0, state="wanted")


@fold.on(CardMade)
def _fold_card_made(db: Connection, _recorded: Recorded, event: CardMade) -> None:
    _keep(db, event, title=event.title, repository=event.repository, number=event.number, state="made")


@fold.on(EntryGivenUp)
def _fold_entry_given_up(db: Connection, _recorded: Recorded, event: EntryGivenUp) -> None:
    run_id, _, proposal = event.key.removeprefix("card:").partition(":")
    if event.act == "create_card" and proposal.isdecimal():
        change(db, children, {"run_id": run_id, "proposal": int(proposal[:9])}, state="given_up")


@fold.on(CardConverted)
def _fold_card_converted(db: Connection, _recorded: Recorded, event: CardConverted) -> None:
    issue_ref = issue_ref_of(event.place_before)
    if issue_ref is not None:
        now = {"repository": event.repository, "number": event.number}
        change(db, children, {"repository": issue_ref[0], "number": issue_ref[1]}, **now)


fold.on(RepositoryMoved)(setter(children, lambda event: {"repository": event.after}, repository="before"))


def _keep(db: Connection, event: CardProposed | CardMade, **values: object) -> None:
    card_id = value(db, runs.c.card_id, run_id=event.run_id)
    if card_id is not None:
        keep(
            db, children, {"run_id": event.run_id, "proposal": event.proposal}, {"card_id": card_id, **values}
        )
