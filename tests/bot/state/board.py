"""A board with a policy and queued runs in a ledger, without a forge: dollars need no GitHub."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine

from bot.reactor import reactor
from bot.scheduler import dispatch
from ledger.event import Event
from ledger.events import board as on_board
from ledger.events.budget import BudgetReserved
from ledger.events.policy import PolicyLoaded
from ledger.events.run import QuestionAsked, RunEnded, RunParked, RunQueued, UsageMetered
from ledger.ids import BoardId, CardId, QuestionId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.rows.limit_answers import GO_ON, STOP
from ledger.states import CardState, Ending, RunKind
from ledger.views import budgets
from rules.policy.model import parse

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
BOARD = BoardId("PVT_1")
COLUMNS = ("In Progress", "Fast Lane")
EMPLOYED = 20


def policy(limits: str = "", column: str = "") -> str:
    """Return a policy with two columns in which runs cost up to $2.00 each."""
    room = f"archetype: execution, agent: scripted, concurrency: {EMPLOYED}, plan_approval: 'off'{column}"
    names = "".join(f"    {name}: {{{room}}}\n" for name in COLUMNS)
    most = f"runs: {EMPLOYED}, runs_per_repository: {EMPLOYED}"
    return f"version: 1\nboard:\n  columns:\n{names}  limits: {{{', '.join(filter(None, (most, limits)))}}}\n"


def tell(engine: Engine, *events: Event, at: datetime = NOW) -> None:
    """Append events and let the rules see them."""
    with event_store.writing(engine) as db:
        event_store.append(db, *events, at=at)
        reactor.advance(db, now=at)


def furnish(engine: Engine, text: str, cards: Sequence[tuple[str, str]]) -> tuple[RunId, ...]:
    """Make a board under that policy and queue a run for each card: the column and who started it."""
    shown = tuple(on_board.Column(f"o{n}", name, "") for n, name in enumerate(COLUMNS))
    event = on_board.BoardSeen(BOARD, "acme", 1, "Roadmap", "F1", shown, ())
    tell(engine, event, PolicyLoaded(BOARD, "d1", text, "c1"))
    rules = parse(text, home=None)
    names = []
    for number, (column, by) in enumerate(cards, start=1):
        card_id, column_policy = CardId(f"c{number}"), rules.column(column)
        assert column_policy is not None
        born = on_board.CardSeen(
            card_id, BOARD, f"I_{number}", "acme/app", number, f"Issue {number}", "", "ann", None,
            CardState.DRAFT,
        )  # fmt: skip
        moved = on_board.CardMoved(card_id, None, column, by_cardinal=True)
        with event_store.writing(engine) as db:
            event_store.append(db, born, moved, at=NOW)
        names.append(queue(engine, card_id, number, column, by, column_policy.to_json()))
    with event_store.writing(engine) as db:
        reactor.advance(db, now=NOW)
    return tuple(names)


def queue(engine: Engine, card_id: CardId, number: int, column: str, by: str, settings: str) -> RunId:
    """Queue a run of the card; return its id."""
    run_id = RunId(f"r{number}")
    queued = RunQueued(
        run_id, card_id, 1, RunKind.FIRST, column, "acme/app", f"cardinal/{number}", "scripted", by, "",
        settings, False,
    )  # fmt: skip
    with event_store.writing(engine) as db:
        event_store.append(db, queued, at=NOW)
    return run_id


def claim(engine: Engine, run_id: RunId, now: datetime = NOW) -> bool:
    """Claim a run as a worker does; False when it may not start."""
    return dispatch.claim_run(engine, run_id, worker=f"w-{run_id}", now=now, ttl_s=600, slots=50) is not None


def spend(engine: Engine, run_id: RunId, usd: float, now: datetime = NOW) -> None:
    """Let a run cost something."""
    tell(engine, UsageMetered(run_id, usd, 1, 1, 1, 1.0), at=now)


def park(engine: Engine, run_id: RunId, asker: str = "budget", now: datetime = NOW) -> QuestionId:
    """Let a run ask whether it may go on."""
    with event_store.reading(engine) as db:
        asked = 1 + sum(
            isinstance(one.event, QuestionAsked) for one in event_store.read(db, stream=f"run:{run_id}")
        )
    question_id = QuestionId(f"{run_id}-q{asked}")
    question = QuestionAsked(run_id, question_id, asker, "It reached its budget.", (GO_ON.label, STOP.label))
    tell(engine, question, RunParked(run_id, "limit"), at=now)
    return question_id


def end(engine: Engine, run_id: RunId) -> None:
    """End a run."""
    tell(engine, RunEnded(run_id, Ending.FAILED, "agent_error", "", "working"))


def row(engine: Engine, run_id: RunId) -> budgets.BudgetRow:
    """Return what the ledger says about the run's dollars."""
    with event_store.reading(engine) as db:
        budget = budgets.get(db, run_id)
    assert budget is not None
    return budget


def grants(engine: Engine) -> list[BudgetReserved]:
    """Return all reservations, oldest first."""
    with event_store.reading(engine) as db:
        return [
            one.event for one in event_store.read(db, limit=10_000) if isinstance(one.event, BudgetReserved)
        ]


def claim_all(url: str, *names: RunId) -> None:
    """Claim whatever can be claimed of these runs, in a process of its own: it says `ready` and waits."""
    engine = open_ledger(url)
    print("ready", flush=True)
    sys.stdin.readline()
    for run_id in names:
        claim(engine, run_id)
    engine.dispose()
