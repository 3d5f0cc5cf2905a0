"""The cost of the work by run and day, with its card, column and board."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Index, Select, Table, func, literal, select

from ledger.db.rows import change, columns, listed, where
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.conversation import AssistantMetered
from ledger.events.run import UsageMetered
from ledger.fold import Fold
from ledger.ids import BoardId, CardId, RunId
from ledger.views.cards import cards
from ledger.views.runs import runs


@dataclass(frozen=True, slots=True)
class SpendRow:
    """A run's usage on one day of UTC, `day` as YYYY-MM-DD; the assistant counts as `assistant:<card>`."""

    run_id: RunId
    day: str
    card_id: CardId
    board_id: BoardId
    column: str
    usd: float
    input_tokens: int
    output_tokens: int
    turns: int
    active_s: float


@dataclass(frozen=True, slots=True)
class SpendTotal:
    """A sum of usage."""

    usd: float
    input_tokens: int
    output_tokens: int


spend = Table(
    "view_spend",
    VIEWS,
    *columns(SpendRow, "run_id", "day"),
    Index("view_spend_day", "board_id", "day"),
    Index("view_spend_card", "card_id"),
)
fold = Fold()


def today(db: Connection, board_id: BoardId, day: date) -> SpendTotal:
    """Return the usage of the board's runs on `day` of UTC."""
    return _sum(db, where(spend, {"board_id": board_id, "day": day.isoformat()}))


def of_card(db: Connection, card_id: CardId) -> SpendTotal:
    """Return the usage of all runs of the card."""
    return _sum(db, spend.c.card_id == card_id)


def by_column(db: Connection, board_id: BoardId, day: date) -> dict[str, float]:
    """Return the dollars of each column's runs on `day` of UTC."""
    mine = where(spend, {"board_id": board_id, "day": day.isoformat()})
    query = select(spend.c.column, func.sum(spend.c.usd)).where(mine).group_by(spend.c.column)
    return {column: usd for column, usd in db.execute(query)}


def of_run(db: Connection, run_id: RunId) -> tuple[SpendRow, ...]:
    """Return the run's usage, day by day."""
    return listed(db, SpendRow, spend, "day", run_id=run_id)


@fold.on(UsageMetered)
def _metered(db: Connection, it: Recorded, event: UsageMetered) -> None:
    used = {name: getattr(event, name) for name in ("usd", "input_tokens", "output_tokens", "turns")}
    place = select(runs.c.card_id, runs.c.board_id, runs.c.column).where(runs.c.run_id == event.run_id)
    _add(db, event.run_id, it.at, place, {**used, "active_s": event.seconds})


@fold.on(AssistantMetered)
def _assistant_metered(db: Connection, it: Recorded, event: AssistantMetered) -> None:
    used = {"usd": event.usd, "input_tokens": event.tokens}
    place = select(literal(event.card_id), cards.c.board_id, cards.c.column)
    mine = cards.c.card_id == event.card_id
    _add(db, f"assistant:{event.card_id}", it.at, place.where(mine), used, card_id=event.card_id)


def _add(
    db: Connection, run_id: str, at: datetime, place: Select[Any], used: dict[str, float], card_id: str = ""
) -> None:
    """Add to the run's sums of that day; the first sum takes its card, board and column from `place`."""
    key = {"run_id": run_id, "day": at.astimezone(UTC).date().isoformat()}
    if not change(db, spend, key, **{name: spend.c[name] + value for name, value in used.items()}):
        card, board, column = db.execute(place).first() or (card_id, "", "")
        where_spent = {"card_id": card, "board_id": board, "column": column or ""}
        db.execute(spend.insert().values(**key, **where_spent, **used))


def _sum(db: Connection, which: ColumnElement[bool]) -> SpendTotal:
    sums = (func.coalesce(func.sum(spend.c[name]), 0) for name in ("usd", "input_tokens", "output_tokens"))
    usd, input_tokens, output_tokens = db.execute(select(*sums).where(which)).one()
    return SpendTotal(float(usd), int(input_tokens), int(output_tokens))
