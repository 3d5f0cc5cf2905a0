"""Which runs may start is asked at every tick and only worked out again when something happened."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.outbox import handlers
from bot.reactor import apply, reactor
from bot.scheduler import dispatch
from bot.state import policies
from ledger.db import tables
from ledger.db.rows import drop
from ledger.event import Event
from ledger.events.board import (
    BoardHalted,
    CardDescribed,
    CardExplained,
    LabelJudged,
    StopLifted,
    StopOrdered,
)
from ledger.events.policy import PolicyLoaded
from ledger.events.preference import LimitsChosen, PriorityChosen, PrioritySeen
from ledger.events.run import RunEnded
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import run_queue
from ledger.queue import outbox
from ledger.states import CardState, Ending, Priority, Reason, RunKind
from ledger.views import budgets, cards, runs
from rules.intents.internal import QueueRun
from rules.intents.outbound import Decision, WriteRunComment
from rules.policy.column import ColumnPolicy
from tests.bot.scheduler.test_shared_files import TEXT
from tests.ledger.samples import BOARD, NOW, board_seen, card_seen, run_queued
from tests.ledger.traced import traced
from tests.ledgers import new_ledger


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return queue_of(tmp_path / "ledger.db", 5)


def queue_of(path: Path, size: int, policy: str = "") -> Engine:
    """Return a ledger with so many cards whose runs wait."""
    made = new_ledger(f"sqlite:///{path}")
    with event_store.writing(made) as db:
        event_store.append(db, board_seen(), PolicyLoaded(BOARD, "d", policy, ""), at=NOW)
        for n in range(size):
            event_store.append(db, card_seen(f"c{n}", n), run_queued(f"r{n}", f"c{n}"), at=NOW)
        reactor.advance(db, now=NOW)
    starts(made)
    starts(made)  # the reasons that the first answer recorded are events, too
    return made


def statements(engine: Engine, slots: int) -> int:
    """Return how many statements one question takes."""
    with traced(engine) as statements:
        dispatch.ready_runs(engine, now=NOW, slots=slots)
    return len(statements)


def starts(engine: Engine, slots: int = 1) -> list[RunId]:
    return [ready_run.run_id for ready_run in dispatch.ready_runs(engine, now=NOW, slots=slots)]


def test_a_tick_on_which_nothing_happened_asks_for_the_newest_event_only(engine: Engine) -> None:
    assert 1 <= statements(engine, 1) <= 3
    assert starts(engine) == ["r0"]


def test_whatever_happens_is_heeded_at_the_next_tick(engine: Engine) -> None:
    assert starts(engine) == ["r0"]
    with event_store.writing(engine) as db:
        event_store.append(db, StopOrdered(BOARD, "board", "", "ann"), at=NOW)
    assert starts(engine) == []


def test_under_a_policy_that_cannot_be_read_nothing_starts_and_the_rules_alone_say_why(
    engine: Engine,
) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, PolicyLoaded(BOARD, "e", "columns: [", ""), at=NOW)
        reactor.advance(db, now=NOW)
        before = event_store.last_seq(db)
    assert starts(engine, 5) == []
    with event_store.reading(engine) as db:
        assert event_store.last_seq(db) == before


def test_more_free_workers_are_another_question(engine: Engine) -> None:
    assert len(starts(engine, 1)) == 1
    assert len(starts(engine, 2)) == 2


def test_a_new_day_is_another_question(engine: Engine) -> None:
    tomorrow = NOW + timedelta(days=1)
    assert [ready_run.run_id for ready_run in dispatch.ready_runs(engine, now=tomorrow, slots=1)] == ["r0"]


def test_a_start_from_a_long_queue_appends_nothing_about_the_others(engine: Engine) -> None:
    starts(engine)
    with event_store.reading(engine) as db:
        before = event_store.last_seq(db)
        places = {run_id: run_queue.queue_place(db, RunId(run_id)) for run_id in ("r1", "r3", "r4")}
    lease = dispatch.claim_run(engine, RunId("r0"), worker="w", now=NOW, ttl_s=60, slots=1)
    assert lease is not None
    starts(engine, 0)
    with event_store.reading(engine) as db:
        news = [recorded.event for recorded in event_store.read(db, after=before, limit=100)]
        after = {run_id: run_queue.queue_place(db, RunId(run_id)) for run_id in places}
    assert [type(event).__name__ for event in news if isinstance(event, CardExplained)] == []
    assert after == {run_id: position - 1 for run_id, position in places.items()}


def test_why_a_card_waits_is_recorded_once_and_again_when_it_was_overwritten(engine: Engine) -> None:
    with event_store.reading(engine) as db:
        before, wait = event_store.last_seq(db), run_queue.reasons_of(db, [CardId("c3")])[CardId("c3")]
    assert "in the queue" not in wait  # its place is computed when somebody reads it
    starts(engine)
    with event_store.writing(engine) as db:
        assert event_store.last_seq(db) == before
        event_store.append(db, CardExplained(CardId("c3"), "something else"), at=NOW)
    starts(engine)
    with event_store.reading(engine) as db:
        assert run_queue.reasons_of(db, [CardId("c3")]) == {CardId("c3"): wait}


def test_the_comment_of_a_queued_run_is_written_for_each_new_cause_and_for_no_other_news(
    engine: Engine,
) -> None:
    key = handlers.key(WriteRunComment(CardId("c3"), RunId("r3")))

    def halt(because: str) -> tuple[Event, ...]:
        return (BoardHalted(BOARD, "key", because, NOW + timedelta(hours=1), 1),)

    def is_written(*events: Event) -> bool:
        with event_store.writing(engine) as db:
            drop(db, tables.outbox)
            event_store.append(db, *events, at=NOW)
            reactor.advance(db, now=NOW)
        starts(engine)
        with event_store.reading(engine) as db:
            return outbox.get(db, key) is not None

    assert is_written(StopOrdered(BOARD, "column", "In Progress", "ann"))
    assert not is_written(StopOrdered(BOARD, "column", "Planning", "ann"))
    assert is_written(*halt("no key"), StopLifted(BOARD, "column", "In Progress", "ann"))
    assert not is_written(*halt("still no key"))
    assert is_written(StopOrdered(BOARD, "card", "c3", "ann", "a duplicate"))  # blocks the card


def happens(engine: Engine, *events: Event) -> int:
    """Append the events, ask three times which runs may start, and return the last event's number."""
    with event_store.writing(engine) as db:
        event_store.append(db, *events, at=NOW)
        reactor.advance(db, now=NOW)
    for _ in range(3):
        starts(engine)
    with event_store.reading(engine) as db:
        return event_store.last_seq(db)


def test_a_card_out_of_reach_is_explained_once_though_its_run_waits(engine: Engine) -> None:
    last = happens(engine, replace(board_seen(), owner="beta"), PolicyLoaded(BOARD, "d", "", ""))
    starts(engine)
    with event_store.reading(engine) as db:
        assert event_store.last_seq(db) == last
        card = cards.get(db, CardId("c3"))
    assert card is not None
    assert card.reason is Reason.OUT_OF_REACH


def test_a_blocked_card_is_free_again_though_its_run_waited_for_the_board_too(engine: Engine) -> None:
    happens(engine, StopOrdered(BOARD, "board", BOARD, "ann"))
    happens(engine, StopOrdered(BOARD, "card", "c3", "al", "no contract"))
    with event_store.reading(engine) as db:
        card = cards.get(db, CardId("c3"))
    assert card is not None
    assert (card.state, card.reason) == (CardState.BLOCKED, Reason.BLOCKED)
    assert card.because.startswith("the card is blocked by al (no contract)")
    happens(engine, StopLifted(BOARD, "card", "c3", "al"))
    with event_store.reading(engine) as db:
        free = cards.get(db, CardId("c3"))
    assert free is not None
    assert free.state is not CardState.BLOCKED
    assert free.because.startswith("the board is stopped by ann")
    assert free.reason is Reason.STOPPED


ORDERED = """version: 1
board:
  queue_order: priority
  labels: {hot: {priority: urgent, max_turns: 7}}
  columns: {In Progress: {archetype: execution}}
"""


def test_runs_start_by_priority_as_soon_as_the_policy_says_so_and_by_place_when_it_does_not(
    engine: Engine,
) -> None:
    def happens(*events: Event) -> list[RunId]:
        with event_store.writing(engine) as db:
            event_store.append(db, *events, at=NOW)
            reactor.advance(db, now=NOW)
        return starts(engine)

    hot = CardDescribed(CardId("c3"), "Title", "Body", ("hot",), False)
    assert happens(hot) == ["r0"]
    assert happens(PolicyLoaded(BOARD, "e", ORDERED, "")) == ["r3"]
    assert happens(PriorityChosen(CardId("c1"), Priority.URGENT, "ann")) == ["r1"]
    assert happens(PrioritySeen(CardId("c1"), "Low")) == ["r1"]  # the command counts
    assert happens(PriorityChosen(CardId("c1"), None, "ann")) == ["r3"]
    assert happens(LabelJudged(CardId("c3"), "hot", "eve", "read", False)) == ["r0"]
    assert happens(LabelJudged(CardId("c3"), "hot", "ann", "write", True)) == ["r3"]
    assert happens(PolicyLoaded(BOARD, "g", ORDERED.replace("priority\n", "position\n"), "")) == ["r0"]


def test_a_run_is_queued_with_the_priority_and_the_limits_of_its_card(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        happened = (
            PolicyLoaded(BOARD, "e", ORDERED, ""),
            CardDescribed(CardId("c3"), "Title", "Body", ("hot",), False),
            LimitsChosen(CardId("c3"), 120, 0, 4.5, "ann"),
            RunEnded(RunId("r3"), Ending.CANCELLED, "cancelled", "", "queued"),
        )
        event_store.append(db, *happened, at=NOW)
        reactor.advance(db, now=NOW)
        policy = policies.in_force(db, BOARD)
        again = QueueRun(CardId("c3"), RunKind.RETRY, "ann", plan_required=True)
        apply.apply(db, policy, Decision((again,)), now=NOW)
    with event_store.reading(engine) as db:
        run = next(iter(runs.of_card(db, CardId("c3"))))
        budget = budgets.of_runs(db, (run.run_id,))[run.run_id]
    settings = ColumnPolicy.model_validate_json(run.settings)
    assert (run.priority, settings.timeout_minutes, settings.max_turns) == (Priority.URGENT, 120, 7)
    assert (settings.budget_usd, budget.budget_usd) == (4.5, 4.5)


def test_a_choice_and_a_claim_ask_as_often_about_a_long_queue_as_about_a_short_one(
    tmp_path: Path,
) -> None:
    asked, policy = [], TEXT.format("wait")
    for queue in (queue_of(tmp_path / "short.db", 5, policy), queue_of(tmp_path / "long.db", 25, policy)):
        starts(queue, 2)  # it records why the others wait
        choosing = statements(queue, 2)
        with traced(queue) as claiming:
            dispatch.claim_run(queue, RunId("r0"), worker="w", now=NOW, ttl_s=60, slots=2)
        asked.append((choosing, len(claiming)))
    assert asked[0] == asked[1]


def test_a_claim_leaves_the_workers_to_the_runs_ahead(engine: Engine) -> None:
    def claims(run_id: str) -> bool:
        return dispatch.claim_run(engine, RunId(run_id), worker="w", now=NOW, ttl_s=60, slots=2) is not None

    assert [claims(run_id) for run_id in ("r2", "r1", "r2", "r0", "r2")] == [False, True, False, True, False]
