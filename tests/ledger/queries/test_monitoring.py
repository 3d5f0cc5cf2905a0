"""What monitoring scrapes: right, and as cheap after a long history as after a short one."""

from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from ledger.db import tables
from ledger.db.clock import database_now
from ledger.events.agent import CallRefused, ProviderFailed
from ledger.events.conversation import AssistantMetered
from ledger.events.run import RunClaimed, RunEnded, RunHung, RunRequeued, UsageMetered, ValidationEnded
from ledger.ids import CardId, DeliveryId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queries.hosts import HostState
from ledger.queries.monitoring import MAX_RECENT, Figures, read_figures
from ledger.queue import inbox, outbox
from ledger.queue.outbox import SHUT_OUT
from ledger.states import Ending, RunState
from ledger.views.tallies import Tally
from tests.ledger.log.writers import draft
from tests.ledger.queries.test_scale import steps
from tests.ledger.queue.test_hosts import beat, fall_silent
from tests.ledger.samples import CARD, NOW, RUN, card_seen, run_queued


def figures(engine: Engine) -> Figures:
    with event_store.reading(engine) as db:
        return read_figures(db, "react")


def settle(engine: Engine, took_s: list[float]) -> None:
    """Store deliveries that were done just now, so many seconds after they arrived."""
    ids = [DeliveryId(f"d{number}") for number in range(len(took_s))]
    inbox.store_deliveries(engine, *(inbox.Delivery(it, "issues", "opened", b"{}", NOW) for it in ids))
    with event_store.writing(engine) as db:
        now = database_now(db)
        for delivery_id, took in zip(ids, took_s, strict=True):
            mine = tables.inbox.update().where(tables.inbox.c.delivery_id == delivery_id)
            at = {"received_at": now - timedelta(seconds=took), "settled_at": now}
            db.execute(mine.values(state="done", **at))


def test_sums_rise_with_what_happened_and_count_only_the_gate(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            card_seen(),
            run_queued(),
            RunClaimed(RUN, 1, "w"),
            UsageMetered(RUN, 0.25, 100, 20, 3, 9.0),
            UsageMetered(RUN, 0.5, 10, 2, 1, 9.0),
            AssistantMetered(CardId(CARD), 0.125, 7),
            CallRefused(RUN, "budget", "too dear"),
            ProviderFailed(RUN, "anthropic", 529, "busy", 1),
            ValidationEnded(RUN, 1, "fast", True, "a" * 40),
            ValidationEnded(RUN, 1, "full", False, "a" * 40, clean=True),
            ValidationEnded(RUN, 2, "full", True, "b" * 40, clean=True),
            RunHung(RUN, 61.0),
            RunRequeued(RUN, "reclaimed"),
            RunClaimed(RUN, 2, "w"),
            RunRequeued(RUN, "handed_back"),
            RunEnded(RUN, Ending.CANCELLED, "cancelled", "", ""),
            at=NOW,
        )
    assert figures(ledger).tallies == {
        (Tally.USD, "runs"): 0.75,
        (Tally.USD, "assistant"): 0.125,
        (Tally.TOKENS, "input"): 110,
        (Tally.TOKENS, "output"): 22,
        (Tally.TOKENS, "assistant"): 7,
        (Tally.TURNS, ""): 4,
        (Tally.CALLS_REFUSED, ""): 1,
        (Tally.PROVIDER_FAILURES, ""): 1,
        (Tally.GATES, "failed"): 1,
        (Tally.GATES, "passed"): 1,
        (Tally.WORKERS_HUNG, ""): 1,
        (Tally.LEASES_LOST, ""): 1,
        (Tally.RUNS_ENDED, "cancelled"): 1,
    }


def test_what_waits_is_counted_with_the_age_of_the_oldest(ledger: Engine) -> None:
    beat(ledger, "a")
    beat(ledger, "b")
    fall_silent(ledger, "b")
    with event_store.writing(ledger) as db:
        now = database_now(db)
        for number, seconds in enumerate((50, 500, 5000)):
            at = now - timedelta(seconds=seconds)
            outbox.put(db, draft(f"c{number}"), at, created_at=at)
        held = tables.outbox.c.card_id == "c2"
        db.execute(tables.outbox.update().where(held).values(error=SHUT_OUT))
        at = now - timedelta(seconds=40)
        event_store.append(db, card_seen(), run_queued(), at=at)
        event_store.append(db, card_seen("c2", 2), run_queued("r2", "c2"), at=now)
        event_store.append(db, RunClaimed(RunId("r2"), 1, "a-1", "a"), at=now)
    inbox.store_deliveries(
        ledger, inbox.Delivery(DeliveryId("x"), "issues", "opened", b"{}", now - timedelta(seconds=90))
    )
    read = figures(ledger)
    assert (read.acts, read.acts_without_access, round(read.oldest_act_s, -2)) == (3, 1, 500)
    assert (read.deliveries["waiting"], round(read.oldest_delivery_s, -1)) == (1, 90)
    assert (read.undecided, round(read.undecided_s, -1)) == (5, 40)
    assert {state: count for state, count in read.runs.items() if count} == {
        RunState.QUEUED: 1,
        RunState.CLAIMED: 1,
    }
    assert read.hosts == {HostState.ALIVE: 1, HostState.DRAINED: 0, HostState.DEAD: 1}
    assert read.slots == 2


def test_the_lag_is_that_of_the_newest_deliveries(ledger: Engine) -> None:
    assert figures(ledger).delivery_s == {}
    settle(ledger, [*([0.5] * 90), *([8.0] * 10)])
    assert figures(ledger).delivery_s == {0.5: 0.5, 0.95: 8.0}


def test_a_scrape_costs_the_same_after_a_long_history(tmp_path: Path) -> None:
    costs = []
    for runs in (MAX_RECENT // 10, MAX_RECENT):
        engine = open_ledger(f"sqlite:///{tmp_path / str(runs)}.db")
        settle(engine, [1.0] * MAX_RECENT)
        with event_store.writing(engine) as db:
            for number in range(runs):
                mine = run_queued(f"r{number}", "c1")
                ended = RunEnded(RunId(f"r{number}"), Ending.SUCCEEDED, "", "", "")
                event_store.append(db, *([card_seen("c1")] if not number else []), mine, ended, at=NOW)
            last = event_store.last_seq(db)
            event_store.advance_cursor(db, "react", before=0, after=last)
        costs.append(steps(engine, figures))
    assert costs[1] <= costs[0] * 1.1 + 20, costs
