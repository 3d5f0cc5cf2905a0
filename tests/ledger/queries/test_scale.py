"""Questions that are asked all the time cost the same on a full board as on an empty one.

Counted in steps of SQLite's virtual machine: they are the same on every machine, however busy it is.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from ledger.db import tables
from ledger.events.board import ColumnRanked
from ledger.events.conversation import PersonSaid
from ledger.ids import CardId, DeliveryId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queries import lanes, run_queue, timeline
from ledger.queries.card_filter import CardScope
from ledger.queue import inbox, leases, outbox
from ledger.views import cards, messages, plans, questions, remotes, reports, runs, spend, threads
from tests.ledger.claims import claim_next
from tests.ledger.log.writers import draft
from tests.ledger.samples import BOARD, NOW, card_seen, later, run_queued

SMALL, LARGE = 40, 800
MID = CardId("c7")


def filled(path: Path, count: int) -> Engine:
    """Return a ledger of `count` cards, each with a queued run, an entry and a delivery."""
    engine = open_ledger(f"sqlite:///{path}")
    with event_store.writing(engine) as db:
        for number in range(count):
            event_store.append(
                db, card_seen(f"c{number}", number), run_queued(f"r{number}", f"c{number}"), at=NOW
            )
            outbox.put(db, draft(f"c{number}"), NOW)
            looked = leases.take(db, f"look:c{number}", "w", ttl_s=30)
            assert looked is not None
            leases.release(db, looked)
        order = tuple(CardId(f"c{number}") for number in range(count))
        event_store.append(db, ColumnRanked(BOARD, "In Progress", order), at=NOW)
        event_store.append(db, *(PersonSaid(MID, n, "issue", "ann", True, "hi") for n in range(40)), at=NOW)
    deliver(engine, min(count, 20), "d")
    deliver(engine, count, "done")
    with event_store.writing(engine) as db:
        condition = tables.inbox.c.delivery_id.startswith("done")
        db.execute(tables.inbox.update().where(condition).values(state="done", settled_at=later(count)))
    return engine


def deliver(engine: Engine, count: int, name: str) -> None:
    ids = (DeliveryId(f"{name}{number}") for number in range(count))
    inbox.store_deliveries(engine, *(inbox.Delivery(it, "issues", "opened", b"{}", NOW) for it in ids))


def read(query: Callable[[Connection], object]) -> Callable[[Engine], object]:
    def run(engine: Engine) -> object:
        with event_store.reading(engine) as db:
            return query(db)

    return run


def put_again(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        outbox.put(db, replace(draft("sticky"), lane="sticky", coalesce=True), NOW)


def drop_old(engine: Engine) -> None:
    with event_store.writing(engine) as db:
        inbox.drop_done(db, datetime.now(UTC), 2)


QUESTIONS: dict[str, Callable[[Engine], object]] = {
    "the queue's head": read(lambda db: runs.list_queued(db, limit=20)),
    "a column's queue": read(lambda db: runs.list_queued(db, BOARD, "In Progress", 20)),
    "what is held": read(lambda db: runs.list_held(db, BOARD)),
    "what is parked": read(runs.list_parked),
    "a card": read(lambda db: cards.get(db, MID)),
    "an issue's cards": read(lambda db: cards.of_issue(db, "acme/app", 7)),
    "a pull request's cards": read(lambda db: cards.of_pull(db, "acme/app", 7)),
    "a comment's card": read(lambda db: remotes.cards_of(db, "7")),
    "what needs a person": read(lambda db: lanes.waiting_by_state(db, [CardScope(BOARD)])),
    "a card's runs": read(lambda db: runs.of_card(db, MID)),
    "the conversation": read(lambda db: messages.newest(db, MID, 30)),
    "a run's questions": read(lambda db: questions.of_run(db, RunId("r7"))),
    "a run's plan": read(lambda db: plans.newest(db, RunId("r7"))),
    "pending threads": read(lambda db: threads.pending(db, MID)),
    "a card's spend": read(lambda db: spend.of_card(db, MID)),
    "a card's timeline": read(lambda db: timeline.of_card(db, MID)),
    "the next run's id": read(runs.next_id),
    "the next due time": lambda engine: outbox.next_due_s(engine, "content"),
    "the next entry": lambda engine: claim_next(engine, "content", lease_s=9, holder="p"),
    "nothing to publish": lambda engine: claim_next(engine, "other", lease_s=9, holder="p"),
    "newer words": put_again,
    "who holds leases": read(leases.holders),
    "which leases ran out": read(lambda db: leases.list_expired(db, "run:")),
    "who holds entries": read(outbox.holders),
    "why cards wait": read(lambda db: run_queue.reasons_of(db, (MID, CardId("c8")))),
    "the head of a queue": read(lambda db: run_queue.list_queued_in_column(db, BOARD, "In Progress", 10)),
    "the reports of a card's runs": read(lambda db: reports.of_runs(db, (RunId("r7"), RunId("r8")))),
    "due deliveries": lambda engine: inbox.due_deliveries(engine, limit=10),
    "quarantined deliveries": read(inbox.list_quarantined),
    "old deliveries": drop_old,
}


def steps(engine: Engine, question: Callable[[Engine], object]) -> int:
    """Return how many steps SQLite's virtual machine takes to answer, in tens."""
    count = [0]

    def tick() -> int:
        count[0] += 1
        return 0

    def watch(db: Connection) -> None:
        db.connection.driver_connection.set_progress_handler(tick, 10)  # type: ignore[union-attr]

    engine.dispose()  # so that the question opens a connection
    event.listen(engine, "begin", watch)
    try:
        question(engine)
    finally:
        event.remove(engine, "begin", watch)
        engine.dispose()
    return count[0]


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    """Return a small and a large ledger."""
    folder = tmp_path_factory.mktemp("scale")
    return filled(folder / "small.db", SMALL), filled(folder / "large.db", LARGE)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_frequent_question_costs_the_same_at_twenty_times_the_cards(
    ledgers: tuple[Engine, Engine], name: str
) -> None:
    small, large = (steps(engine, QUESTIONS[name]) for engine in ledgers)
    assert large <= small * 1.5 + 20, f"{small} steps became {large}"


def test_sqlite_prepares_a_frequent_question_once(ledgers: tuple[Engine, Engine]) -> None:
    """Preparing takes longer than answering; SQLite asks its authorizer whenever it prepares."""
    engine, prepared, anew = ledgers[0], list[Any](), set[str]()

    def note(*what: Any) -> int:
        prepared.append(what)
        return 0

    def watch(driver: Any, _record: object) -> None:
        driver.set_authorizer(note)

    engine.dispose()
    event.listen(engine, "connect", watch)
    try:
        for name in (*QUESTIONS, *QUESTIONS):
            prepared.clear()
            QUESTIONS[name](engine)
            anew = anew | {name} if prepared else anew - {name}
    finally:
        event.remove(engine, "connect", watch)
        engine.dispose()
    assert anew == set()
