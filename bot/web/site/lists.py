"""Cards as lists on pages show them: outside text made harmless and short."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from bot.web.acting.offered import FormView
from ledger.ids import CardId
from ledger.queries.lanes import ListedCard
from rules.text import brief, plain, state_word, usd

MAX_TITLE, MAX_WHY = 120, 240
MAX_ACTING = 10  # cards of one list that have forms; the others have them on their own pages


@dataclass(frozen=True, slots=True)
class CardView:
    """One card in a list; `path` is empty for a draft, which has no page."""

    name: str
    title: str
    path: str
    column: str
    state: str
    why: str
    waits: str
    people: str
    run: str
    cost: str
    forms: tuple[FormView, ...] = ()


def card_view(card: ListedCard, now: datetime, forms: tuple[FormView, ...] = ()) -> CardView:
    """Return the card as a list shows it."""
    return CardView(
        name=f"{card.repository}#{card.number}" if card.number else "draft",
        title=plain(card.title, MAX_TITLE),
        path=path_of(card.repository, card.number, card.card_id),
        column=plain(card.column or "no column", MAX_TITLE),
        state=state_word(card.state),
        why=plain(card.because, MAX_WHY),
        waits=brief(now - card.state_at),
        people=plain(", ".join(card.people)),
        run=card.run_id or "",
        cost=usd(card.usd) if card.usd else "",
        forms=forms,
    )


def path_of(repository: str | None, number: int | None, card_id: CardId) -> str:
    """Return the path of a card's page; empty for a draft.

    An issue on several boards has as many cards: the id says which.
    """
    return f"/cards/{quote(repository)}/{number}/{quote(card_id)}" if repository and number else ""
