"""The dollars of each run: its own budget, and the unused rest of its reservation."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Index, Select, Table, text

from ledger.db.rows import add, all_rows, change, columns, find, list_rows, pick, record, setter, value
from ledger.db.statements import WHERE, statement
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.budget import BudgetRaised, BudgetReserved
from ledger.events.run import (
    CHECK,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunEvent,
    RunParked,
    RunQueued,
    RunRequeued,
    RunStepped,
)
from ledger.fold import Fold
from ledger.ids import NO_QUESTION, BoardId, CardId, QuestionId, RunId
from ledger.model.spend_limits import value_of
from ledger.rows.limit_answers import Code, Subject, code_of, limit_extended_by
from ledger.states import RunState
from ledger.views import questions
from ledger.views.cards import cards

_OPEN = text("open_usd > 0")
_MAX_USD = 1_000_000_000


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A run's dollars. `budget_usd` is its whole budget: `base_usd` of its column and people's additions.

    `granted_usd` is its newest reservation and `open_usd` the rest of that, 0 while no worker holds the run;
    `by_rule` and `limit_usd` tell the limit that made it less than the run's budget. `question_id` is an open
    question that can be answered with as much again.
    """

    run_id: RunId
    card_id: CardId
    board_id: BoardId
    column: str
    by: str
    base_usd: float
    budget_usd: float
    spent_usd: float = 0.0
    granted_usd: float = 0.0
    open_usd: float = 0.0
    by_rule: str = ""
    limit_usd: float = 0.0
    question_id: QuestionId = NO_QUESTION


budgets = Table(
    "view_budgets",
    VIEWS,
    *columns(BudgetRow, "run_id"),
    Index("view_budgets_open", "board_id", info={WHERE: _OPEN}),
)
fold = Fold()


def get(db: Connection, run_id: RunId) -> BudgetRow | None:
    return find(db, BudgetRow, budgets, run_id=run_id)


def of_runs(db: Connection, run_ids: tuple[RunId, ...]) -> dict[RunId, BudgetRow]:
    return {row.run_id: row for row in list_rows(db, BudgetRow, budgets, run_id=run_ids)}


def list_reserved(db: Connection, board_id: BoardId) -> tuple[BudgetRow, ...]:
    """Return the board's runs that hold a reservation, by their ids."""
    return all_rows(db, BudgetRow, _select_reserved, board_id=board_id)


@statement
def _select_reserved(board_id: Any) -> Select[Any]:
    query = pick(BudgetRow, budgets).where(_OPEN, budgets.c.board_id == board_id)
    return query.order_by(budgets.c.run_id)


@fold.on(RunQueued)
def _fold_run_queued(db: Connection, recorded: Recorded, event: RunQueued) -> None:
    if get(db, event.run_id) is not None:
        return  # never appended: the check of the runs refuses it
    board_id = value(db, cards.c.board_id, card_id=event.card_id)
    base_usd = 0.0 if event.kind == CHECK else _base_usd(event.settings)  # no model, no dollars
    record(db, budgets, recorded, board_id=board_id or "", base_usd=base_usd, budget_usd=base_usd)


def _base_usd(settings: str) -> float:
    """Return the budget in a column's policy as JSON; 0 where it has none."""
    usd = value_of(settings, "budget_usd")
    return float(usd) if isinstance(usd, int | float) and 0 < usd < _MAX_USD else 0.0


fold.on(BudgetReserved)(
    setter(
        budgets,
        lambda e: {"granted_usd": e.usd, "open_usd": e.usd, "by_rule": e.by_rule, "limit_usd": e.limit_usd},
        "run_id",
    )
)


@fold.on(BudgetRaised)
def _fold_budget_raised(db: Connection, _recorded: Recorded, event: BudgetRaised) -> None:
    add(db, budgets, {"run_id": event.run_id}, budget_usd=event.usd)


@fold.on(QuestionAsked)
def _fold_question_asked(db: Connection, _recorded: Recorded, event: QuestionAsked) -> None:
    if limit_extended_by(event, Code.GO_ON) is Subject.BUDGET:
        _set(db, event, question_id=event.question_id)


@fold.on(QuestionAnswered)
def _fold_question_answered(db: Connection, _recorded: Recorded, event: QuestionAnswered) -> None:
    row, question = get(db, event.run_id), questions.get(db, event.question_id)
    if row is None or question is None or row.question_id != event.question_id:
        return
    more = limit_extended_by(question, code_of(question, event.code, event.text)) is Subject.BUDGET
    _set(db, event, question_id="", budget_usd=row.budget_usd + (row.base_usd if more else 0.0))


def _release(db: Connection, _recorded: Recorded, event: RunEvent) -> None:
    _set(db, event, open_usd=0.0)


for _kind in (RunParked, RunRequeued, RunEnded):
    fold.on(_kind)(_release)


@fold.on(RunStepped)
def _fold_run_stepped(db: Connection, recorded: Recorded, event: RunStepped) -> None:
    if event.after is RunState.AWAITING_APPROVAL:
        _release(db, recorded, event)


def _set(db: Connection, event: RunEvent, **values: object) -> None:
    change(db, budgets, {"run_id": event.run_id}, **values)
