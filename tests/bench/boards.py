"""What is asked all the time, on boards of a hundred to fifty thousand cards."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import Engine

from bot.reactor import reactor
from bot.runspec import briefing
from bot.scheduler import dispatch
from bot.system import liveness
from ledger.event import Event
from ledger.events.board import BoardSeen, CardExplained, CardSeen, Column, ColumnRanked
from ledger.events.conversation import PersonSaid
from ledger.events.policy import PolicyLoaded
from ledger.events.run import FinalReported, Progressed, RunClaimed, RunEnded, RunQueued, RunStepped
from ledger.ids import CardId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queries import cards as card_queries
from ledger.queries import lanes
from ledger.queries.card_filter import CardScope
from ledger.queue import inbox, leases, outbox, refresh_requests
from ledger.states import CardState, Ending, RunKind, RunState
from ledger.views import cards
from rules.policy.column import ColumnPolicy
from runner.prompts.briefing import make_briefing
from tests.bench.figures import Figure
from tests.ledger.samples import BOARD, NOW

SIZES = (100, 1_000, 10_000, 50_000)
LISTED = 10_000  # the size that the goals of lists and briefings are about
REPEATS = 40
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")
QUEUED_EVERY = 10  # each tenth card waits for a worker
SLOTS = 2
BATCH = 500
# Without limits of its own: that nothing more starts is because both workers have a run.
POLICY = """\
version: 1
board:
  columns:
    Tasks: {archetype: inbox}
    Planning: {archetype: planning}
    In Progress: {archetype: execution, concurrency: 100}
    Review: {archetype: review}
    Done: {archetype: terminal}
  limits: {runs: 1000, runs_per_repository: 1000, usd_per_day: 1000000}
"""
SETTINGS = ColumnPolicy.model_validate({"archetype": "execution"})


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure each question on each size; the median of many."""
    for size in SIZES[:1] if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
            engine = filled(Path(folder) / "ledger.db", size)
            largest = size == LISTED
            yield Figure(f"dispatch_tick_{size}", median_ms(tick, engine), "ms", 1, _queue_note(size))
            said = "a comment, which no choice depends on"
            yield Figure(f"dispatch_tick_after_event_{size}", median_ms(tick, engine, _say), "ms", 0.5, said)
            yield Figure(f"dispatch_tick_after_change_{size}", median_ms(tick, engine, change), "ms")
            note = "a progress of a run at work, appended and decided, without its commit"
            yield Figure(f"rules_and_views_per_event_{size}", _decided_ms(engine), "ms", 1, note)
            yield Figure(
                f"due_work_{size}", median_ms(_due, engine), "ms", note="all else that a tick asks for"
            )
            listing = median_ms(list_board, engine)
            yield Figure(f"board_listing_{size}", listing, "ms", 20 if largest else None)
            yield Figure(f"briefing_{size}", median_ms(_brief, engine), "ms", 5 if largest else None)
            engine.dispose()


def filled(path: Path, size: int) -> Engine:
    """Return the ledger of a board with `size` cards: two runs at work, every tenth card in the queue."""
    engine = open_ledger(f"sqlite:///{path}")
    events = list(_history(size))
    for first in range(0, len(events), BATCH):
        with event_store.writing(engine) as db:
            event_store.append(db, *events[first : first + BATCH], at=NOW)
    with event_store.writing(engine) as db:
        event_store.advance_cursor(
            db, reactor.READER, before=0, after=event_store.last_seq(db)
        )  # decided, as it were
        for n in range(size):  # as every look at a card leaves one
            lease = leases.take(db, f"look:c{n}", "worker", ttl_s=30)
            if lease is not None:
                leases.release(db, lease)
    dispatch.ready_runs(engine, now=NOW, slots=SLOTS)  # the reasons why cards wait are recorded once
    return engine


def _history(size: int) -> Iterator[Event]:
    columns = tuple(Column(f"o{n}", name, "") for n, name in enumerate(COLUMNS))
    yield BoardSeen(BOARD, "acme", 1, "Roadmap", "F1", columns, ())
    yield PolicyLoaded(BOARD, "d", POLICY, "")
    ranked = []
    for n in range(size):
        card_id, waits = CardId(f"c{n}"), n % QUEUED_EVERY == 2
        column = "In Progress" if waits else COLUMNS[n % 2]
        state = CardState.QUEUED if waits else CardState.DRAFT
        title = f"Card {n} does what its title says"
        yield CardSeen(
            card_id, BOARD, f"I{n}", "acme/shop", n, title, "What is wanted. " * 40, "ann", column, state
        )
        if waits:
            ranked.append(card_id)
            yield _queued(RunId(f"r{n}"), card_id, 1)
    yield ColumnRanked(BOARD, "In Progress", tuple(ranked))
    for card_id in ranked[:SLOTS]:
        run_id = RunId(f"r{card_id[1:]}")
        yield RunClaimed(run_id, 1, "worker")
        yield RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING)
    yield from _talked()


def _talked() -> Iterator[Event]:
    """A card with what fills a briefing to its caps: a long talk and twelve earlier runs."""
    card_id = CardId("long")
    text = "A remark of some length about what is wanted and why. " * 30
    yield CardSeen(
        card_id, BOARD, "I-long", "acme/shop", 999_999, "A long story", "Body. " * 900, "ann", "Review",
        CardState.IN_REVIEW,
    )  # fmt: skip
    for n in range(60):
        yield PersonSaid(card_id, n + 1, "issue", "ann", True, text)
    for n in range(12):
        run_id = RunId(f"long-{n}")
        yield _queued(run_id, card_id, n + 1)
        yield RunClaimed(run_id, 1, "worker")
        yield FinalReported(run_id, text, ("a.py: changed",) * 20, ("look",), ())
        yield RunEnded(run_id, Ending.FAILED, "validation", "the tests fail", "validating")


def _queued(run_id: RunId, card_id: CardId, attempt: int) -> RunQueued:
    kind = RunKind.FIRST if attempt == 1 else RunKind.RETRY
    return RunQueued(
        run_id, card_id, attempt, kind, "In Progress", "acme/shop", f"cardinal/{card_id}", "scripted", "ann",
        "", SETTINGS.to_json(), True,
    )  # fmt: skip


def _queue_note(size: int) -> str:
    return f"{SLOTS} runs at work, {size // QUEUED_EVERY - SLOTS} in the queue"


def tick(engine: Engine) -> None:
    dispatch.ready_runs(engine, now=NOW, slots=SLOTS)


def _say(engine: Engine) -> None:
    """Something happens that cannot change which runs start."""
    with event_store.writing(engine) as db:
        event_store.append(db, PersonSaid(CardId("long"), 1, "issue", "ann", True, "Yes."), at=NOW)


def change(engine: Engine) -> None:
    """Something happens after which all is chosen anew: here to a card that does not even wait."""
    with event_store.writing(engine) as db:
        event_store.append(db, CardExplained(CardId("long"), ""), at=NOW)


def _decided_ms(engine: Engine) -> float:
    """Return the median of REPEATS, in milliseconds, of one event's views, decision and entries."""
    run_id = RunId(f"r{QUEUED_EVERY // 5}")
    took = []
    with event_store.writing(engine) as db:
        reactor.advance(db, now=NOW)
    for n in range(REPEATS):
        with event_store.writing(engine) as db:
            start = time.perf_counter()
            reactor.append_and_react(db, Progressed(run_id, f"step {n}"), now=NOW)
            took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)


def _due(engine: Engine) -> None:
    """Ask what `bot.scheduler.ticker` asks beside the dispatch."""
    liveness.expire_dead_holders(engine)
    dispatch.reap_runs(engine, now=NOW)
    with event_store.reading(engine) as db:
        reactor.behind(db)
        refresh_requests.list_requested_cards(db, limit=100)
    inbox.due_deliveries(engine, limit=100)
    for lane in ("github", "assist"):
        outbox.next_due_s(engine, lane)


def list_board(engine: Engine) -> None:
    with event_store.reading(engine) as db:
        for name in card_queries.counts(db, BOARD):
            lanes.of_column(db, [CardScope(BOARD)], name, limit=100)


def _brief(engine: Engine) -> None:
    with event_store.reading(engine) as db:
        card = cards.get(db, CardId("long"))
        if card is None:
            raise LookupError("the card with a history is not there")
        make_briefing(briefing.source(db, card, RunId("r-new"), author_trusted=True))


def median_ms(
    ask: Callable[[Engine], None], engine: Engine, before: Callable[[Engine], None] | None = None
) -> float:
    """Return the median of REPEATS, in milliseconds; `before` is called before each and not counted."""
    ask(engine)
    took = []
    for _ in range(REPEATS):
        if before is not None:
            before(engine)
        start = time.perf_counter()
        ask(engine)
        took.append((time.perf_counter() - start) * 1000)
    return statistics.median(took)
