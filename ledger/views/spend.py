"""Usage of runs and the assistant, and the only place where it is counted: per run, day and shared limit."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Connection, Index, Select, Table, Update, case, func, select

from ledger.db.rows import add, change, columns, insert, list_rows, rename_key, tally
from ledger.db.statements import statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.board import CardReplaced
from ledger.events.conversation import AssistantMetered
from ledger.events.run import BY_PEOPLE, BY_PUSH, UsageMetered
from ledger.fold import Fold
from ledger.ids import BoardId, CardId, RunId
from ledger.model.spend_limits import Limit, value_of
from ledger.states import BY_ITSELF
from ledger.views.budgets import budgets
from ledger.views.cards import cards
from ledger.views.runs import runs
from ledger.views.stages import stages

PROGRAMS = frozenset({BY_ITSELF, BY_PUSH, "CI"})  # in whose name runs start that no person asked for
MAX_MODEL = 200  # characters of a name


@dataclass(frozen=True, slots=True)
class SpendRow:
    """A run's usage of one model on one day of UTC, `day` as YYYY-MM-DD.

    `model` is that of the open stage, else the column's. The assistant counts as `assistant:<card>`, without.
    `person` asked for it; empty where no person did.
    """

    run_id: RunId
    day: str
    card_id: CardId
    board_id: BoardId
    column: str
    usd: float
    input_tokens: int
    output_tokens: int = 0
    turns: int = 0
    active_s: float = 0.0
    model: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class SpendTotal:
    """A sum of usage."""

    usd: float
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class TotalRow:
    """Dollars against a shared limit, so that no reader adds up; `day` is empty for a sum of all days."""

    board_id: BoardId
    day: str
    shared: str
    name: str
    usd: float


spend = Table(
    "view_spend",
    VIEWS,
    *columns(SpendRow, "run_id", "day", "model", "person"),
    Index("view_spend_day", "board_id", "day"),
    Index("view_spend_card", "card_id"),
)
totals = Table("view_totals", VIEWS, *columns(TotalRow, "board_id", "day", "shared", "name"))
fold = Fold()


_SUMS = [func.coalesce(func.sum(spend.c[name]), 0) for name in ("usd", "input_tokens", "output_tokens")]


@statement
def _of_day(board_id: Any, day: Any) -> Select[Any]:
    return select(*_SUMS).where(spend.c.board_id == board_id, spend.c.day == day)


@statement
def _of_card(card_id: Any) -> Select[Any]:
    return select(*_SUMS).where(spend.c.card_id == card_id)


@statement
def _place_of_run(run_id: Any) -> Select[Any]:
    in_stage = (stages.c.run_id == run_id) & stages.c.left_at.is_(None)
    model = select(func.max(stages.c.model)).where(in_stage).scalar_subquery()
    place = (runs.c.card_id, runs.c.board_id, runs.c.column, runs.c.by, model, runs.c.settings, runs.c.door)
    return select(*place).where(runs.c.run_id == run_id)


@statement
def _place_of_card(card_id: Any) -> Select[Any]:
    return select(cards.c.board_id, cards.c.column).where(cards.c.card_id == card_id)


@statement
def _spend_reserved(run_id: Any, usd: Any) -> Update:
    rest = case((budgets.c.open_usd > usd, budgets.c.open_usd - usd), else_=0.0)
    mine = budgets.update().where(budgets.c.run_id == run_id)
    return mine.values(spent_usd=budgets.c.spent_usd + usd, open_usd=rest)


def _total(sums: Sequence[Any] | None) -> SpendTotal:
    usd, input_tokens, output_tokens = sums or (0, 0, 0)
    return SpendTotal(float(usd), int(input_tokens), int(output_tokens))


def today(db: Connection, board_id: BoardId, day: date) -> SpendTotal:
    """Return the usage of the board's runs on `day` of UTC."""
    return _total(_of_day.first(db, {"board_id": board_id, "day": day.isoformat()}))


def of_card(db: Connection, card_id: CardId) -> SpendTotal:
    return _total(_of_card.first(db, {"card_id": card_id}))


def sum_by_limit(
    db: Connection, board_id: BoardId, day: date, card_ids: Collection[str]
) -> dict[tuple[Limit, str], float]:
    """Return the dollars of the board, of everybody on `day` of UTC, and of these cards."""
    # One query for each: SQLite reads all sums of the board for a condition with an OR in it.
    keys: tuple[dict[str, Any], ...] = (
        {"day": day.isoformat()},
        {"day": "", "shared": str(Limit.BOARD)},
        {"day": "", "shared": str(Limit.CARD), "name": tuple(card_ids)},
    )
    rows = (row for key in keys for row in list_rows(db, TotalRow, totals, board_id=board_id, **key))
    return {(Limit(row.shared), row.name): row.usd for row in rows}


@fold.on(UsageMetered)
def _fold_usage_metered(db: Connection, recorded: Recorded, event: UsageMetered) -> None:
    """Add the usage wherever it counts: the run, its open stage, its dollars, the day, the shared limits."""
    mine = {"run_id": event.run_id}
    used = {name: getattr(event, name) for name in ("usd", "input_tokens", "output_tokens")}
    worked = {"turns": event.turns, "active_s": event.seconds}
    add(db, runs, mine, **used, **worked)
    add(db, stages, {**mine, "left_at": None}, **used, seconds=event.seconds)
    _spend_reserved.run(db, {**mine, "usd": event.usd})
    *place, model, settings, door = _place_of_run.first(db, mine) or ("",) * 7
    model = model or value_of(settings, "model")
    model = str(model or "default")[:MAX_MODEL]
    _count(db, event.run_id, recorded.at, place, model, door=door, **used, **worked)


@fold.on(AssistantMetered)
def _fold_assistant_metered(db: Connection, recorded: Recorded, event: AssistantMetered) -> None:
    board_id, column = _place_of_card.first(db, {"card_id": event.card_id}) or ("", "")
    place = (event.card_id, board_id, column or "", event.by)
    _count(db, f"assistant:{event.card_id}", recorded.at, place, "", usd=event.usd, input_tokens=event.tokens)


def person_of(by: str, door: str) -> str:
    """Return the login of the person in whose name something was asked for; empty for a program.

    `by` may be a program's name where no person came through `door`.
    """
    program = by.endswith("[bot]") or " " in by or (by in PROGRAMS and door not in BY_PEOPLE)
    return "" if program else by


@fold.on(CardReplaced)
def _fold_card_replaced(db: Connection, _recorded: Recorded, event: CardReplaced) -> None:
    change(db, spend, {"card_id": event.draft}, card_id=event.card_id)
    rename_key(db, totals, "name", event.draft, event.card_id, shared=str(Limit.CARD))


def _count(
    db: Connection,
    run_id: str,
    at: datetime,
    place: Sequence[str],
    model: str,
    *,
    door: str = "",
    **used: float,
) -> None:
    """Add to the sums of the day and of each shared limit; `place` is a card, its board, column and person.

    The first sum of a run, day and model keeps its card, board and column.
    """
    card_id, board_id, column, person = place
    day = at.astimezone(UTC).date().isoformat()
    key = {"run_id": run_id, "day": day, "model": model, "person": person_of(person, door)}
    if not add(db, spend, key, **used):
        where_spent = {"card_id": card_id, "board_id": board_id, "column": column}
        insert(db, spend, {**key, **where_spent, **used})
    limits = (
        ("", Limit.BOARD, ""),
        ("", Limit.CARD, card_id),
        (day, Limit.DAY, ""),
        (day, Limit.COLUMN, column),
        (day, Limit.PERSON, person),
    )
    if board_id and used["usd"]:
        mine = {"board_id": board_id, "usd": used["usd"]}
        tally(
            db, totals, "usd", [{**mine, "day": on, "shared": str(of), "name": it} for on, of, it in limits]
        )
