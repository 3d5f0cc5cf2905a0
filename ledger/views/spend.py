"""What the work cost: by run and day, with the card, column and board that it was for."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import ColumnElement, Connection, Index, Table, func, select

from ledger.db.rows import columns, many, pick, where
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
    """What a run used on one day of UTC, `day` as YYYY-MM-DD; the assistant counts as `assistant:<card>`."""

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
    """A sum of what was used."""

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
    """Return what the board's runs used on `day` of UTC."""
    return _sum(db, where(spend, {"board_id": board_id, "day": day.isoformat()}))


def of_card(db: Connection, card_id: CardId) -> SpendTotal:
    """Return what all runs of the card used."""
    return _sum(db, spend.c.card_id == card_id)


def by_column(db: Connection, board_id: BoardId, day: date) -> dict[str, float]:
    """Return the dollars that the runs of each column used on `day` of UTC."""
    query = select(spend.c.column, func.sum(spend.c.usd)).where(
        where(spend, {"board_id": board_id, "day": day.isoformat()})
    )
    return {column: usd for column, usd in db.execute(query.group_by(spend.c.column))}


def of_run(db: Connection, run_id: RunId) -> tuple[SpendRow, ...]:
    """Return what the run used, day by day."""
    return many(db, SpendRow, pick(SpendRow, spend).where(spend.c.run_id == run_id).order_by(spend.c.day))


@fold.on(UsageMetered)
def _metered(db: Connection, it: Recorded, event: UsageMetered) -> None:
    key = {"run_id": event.run_id, "day": _day(it.at)}
    used = {
        "usd": event.usd,
        "input_tokens": event.input_tokens,
        "output_tokens": event.output_tokens,
        "turns": event.turns,
        "active_s": event.seconds,
    }
    more = {name: spend.c[name] + value for name, value in used.items()}
    if db.execute(spend.update().where(where(spend, key)).values(**more)).rowcount:
        return
    run = db.execute(
        select(runs.c.card_id, runs.c.board_id, runs.c.column).where(runs.c.run_id == event.run_id)
    ).first()
    place = dict(zip(("card_id", "board_id", "column"), run or ("", "", ""), strict=True))
    db.execute(spend.insert().values(**key, **place, **used))


@fold.on(AssistantMetered)
def _assistant_metered(db: Connection, it: Recorded, event: AssistantMetered) -> None:
    key = {"run_id": f"assistant:{event.card_id}", "day": _day(it.at)}
    more = {"usd": spend.c.usd + event.usd, "input_tokens": spend.c.input_tokens + event.tokens}
    if db.execute(spend.update().where(where(spend, key)).values(**more)).rowcount:
        return
    card = db.execute(
        select(cards.c.board_id, cards.c.column).where(cards.c.card_id == event.card_id)
    ).first()
    place = {"board_id": card.board_id if card else "", "column": (card.column if card else "") or ""}
    used = {"usd": event.usd, "input_tokens": event.tokens, "output_tokens": 0, "turns": 0, "active_s": 0.0}
    db.execute(spend.insert().values(**key, card_id=event.card_id, **place, **used))


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def _sum(db: Connection, which: ColumnElement[bool]) -> SpendTotal:
    sums = (func.coalesce(func.sum(spend.c[name]), 0) for name in ("usd", "input_tokens", "output_tokens"))
    usd, input_tokens, output_tokens = db.execute(select(*sums).where(which)).one()
    return SpendTotal(float(usd), int(input_tokens), int(output_tokens))
