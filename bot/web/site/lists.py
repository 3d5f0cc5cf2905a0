"""Cards as lists on pages show them: outside text made harmless and short; and lists that fit into a page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from flask import get_template_attribute
from markupsafe import Markup, escape

from bot.web.site.decisions import DecisionView
from bot.web.site.holds import MAX_WHY
from bot.web.site.visibility import path_of
from ledger.ids import CardId
from ledger.queries.lanes import ListedCard
from ledger.states import CardState, Reason
from rules.runs.cost import cost_words
from rules.text import brief, plain, state_word

MAX_TITLE = 120
MAX_PART = 7_500  # bytes of HTML of one list among others on a page
Row = TypeVar("Row")
# After how long a card looks late, and overdue: one that waits for people, one that agents have.
_PEOPLES = (timedelta(days=1), timedelta(days=3))
_AGENTS = (timedelta(hours=1), timedelta(hours=6))
_AGES: Mapping[str, tuple[timedelta, timedelta]] = {
    CardState.NEEDS_INPUT: _PEOPLES, CardState.BLOCKED: _PEOPLES, CardState.FAILED: _PEOPLES,
    CardState.WORK_COMPLETE: _PEOPLES, CardState.IN_REVIEW: _PEOPLES, CardState.CHANGES_REQUESTED: _PEOPLES,
    CardState.APPROVED: _PEOPLES,
    CardState.QUEUED: _AGENTS, CardState.WORKING: _AGENTS, CardState.REVISING: _AGENTS,
}  # fmt: skip
MAX_ACTING = 10  # cards of one list whose decisions are in the page; those of others are fetched


@dataclass(frozen=True, slots=True)
class CardView:
    """A card in a list; `path` is empty for a draft, which has no page. `age` is that of `age_of`.
    `failed`: `why` has a failure, for which the card came where nothing runs.
    """

    card_id: CardId
    name: str
    title: str
    path: str
    column: str
    state: str
    why: str
    since: str
    waits: str
    people: str
    run: str
    cost: str
    usd: float = 0.0
    age: str = ""
    failed: bool = False


class InboxRowHtml(Protocol):
    """Makes the line of a card, below which its decision opens: `verb` names it, its forms lead `back`."""

    def __call__(
        self, card: CardView, back: str, verb: str, it: DecisionView | None = None, *, open: bool = False
    ) -> Markup:
        """Return the HTML; without `it`, a script fetches the decision."""


def inbox_row_html() -> InboxRowHtml:
    """Return the maker of the inbox's rows, outside of requests, too."""
    made: InboxRowHtml = get_template_attribute("parts/list.html", "inbox_row")
    return made


def card_view(card: ListedCard, now: datetime) -> CardView:
    """Return the card as a list shows it."""
    return CardView(
        card_id=card.card_id,
        name=f"{card.repository}#{card.number}" if card.number else "draft",
        title=plain(card.title, MAX_TITLE),
        path=path_of(card.repository, card.number, card.card_id),
        column=plain(card.column or "no column", MAX_TITLE),
        state=state_word(card.state),
        why=plain(card.why, MAX_WHY),
        since=card.state_at.isoformat(),
        waits=brief(now - card.state_at),
        people=plain(", ".join(card.people)),
        run=card.run_id or "",
        cost=cost_words(card.usd, card.payer) if card.usd else "",
        usd=card.usd or 0.0,
        age=age_of(card.state, now - card.state_at),
        failed=card.reason == Reason.RUN_FAILED,
    )


def age_of(state: str, length: timedelta) -> str:
    """Return how old a card in that state looks: `late`, `overdue`, or empty."""
    late, overdue = _AGES.get(state, (timedelta.max, timedelta.max))
    return "overdue" if length >= overdue else "late" if length >= late else ""


def file_size(size_bytes: int) -> str:
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return f"{size_bytes / 1e3:.0f} kB" if size_bytes < 1e6 else f"{size_bytes / 1e6:,.1f} MB"


def fit_rows(rows: Iterable[Row], room: int = MAX_PART) -> list[Row]:
    """Return the first rows, one at least, whose texts take at most so many bytes of HTML."""
    fitted: list[Row] = []
    for row in rows:
        room -= _size(row)
        if room < 0 and fitted:
            break
        fitted.append(row)
    return fitted


def newest_fitting(rows: Iterable[Row]) -> list[Row]:
    """Return the last rows that fit into a part of the page."""
    return fit_rows(reversed([*rows]))[::-1]


def _size(row: object) -> int:
    """Return the bytes of HTML that a row's texts take."""
    if isinstance(row, dict | tuple):
        return sum(map(_size, row.values() if isinstance(row, dict) else row))
    return len(escape(row).encode())
