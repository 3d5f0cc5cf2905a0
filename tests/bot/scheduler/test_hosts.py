"""Workers are counted by host, the limits of a board over all hosts."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.bootstrap import services_over
from bot.github.client import Hub
from bot.reactor import reactor
from bot.scheduler import dispatch, ticker
from bot.system.clock import utc_now
from bot.system.config import Config
from ledger.events.policy import PolicyLoaded
from ledger.events.run import RunParked, RunRequeued
from ledger.events.workspace import WorkspaceTaken
from ledger.ids import BoardId, RunId
from ledger.log import event_store
from ledger.queue import hosts, leases
from ledger.queue.leases import Lease
from ledger.views import runs
from tests.ledger.queue.test_hosts import beat, fall_silent
from tests.ledger.samples import BOARD, NOW, board_seen, card_seen, run_queued
from tests.ledgers import new_ledger

POLICY = """
version: 1
board:
  columns:
    In Progress: {archetype: execution, concurrency: 20, plan_approval: "off"}
  limits: {runs: LIMIT, runs_per_repository: 20, usd_per_day: 500}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Return a ledger with hosts b and c of two workers each, and six runs that wait."""
    made = new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    limit(made, 20)
    with event_store.writing(made) as db:
        event_store.append(db, board_seen(), at=NOW)
        for n in range(6):
            event_store.append(db, card_seen(f"c{n}", n), run_queued(f"r{n}", f"c{n}"), at=NOW)
        reactor.advance(db, now=NOW)
    beat(made, "b")
    beat(made, "c")
    yield made
    made.dispose()


def limit(engine: Engine, total: int) -> None:
    with event_store.writing(engine) as db:
        text = POLICY.replace("LIMIT", str(total))
        event_store.append(db, PolicyLoaded(BOARD, f"d{total}", text, ""), at=NOW)


def ready(engine: Engine, host: str = "b") -> list[RunId]:
    return [ready_run.run_id for ready_run in dispatch.ready_runs(engine, now=NOW, slots=2, host=host)]


def claim(engine: Engine, run_id: str, host: str) -> Lease | None:
    worker = f"{host}-{run_id}"
    return dispatch.claim_run(engine, RunId(run_id), worker=worker, now=NOW, ttl_s=600, slots=2, host=host)


def test_two_hosts_of_two_workers_run_four_at_once_and_none_a_third(engine: Engine) -> None:
    assert ready(engine) == ready(engine, "c") == ["r0", "r1", "r2", "r3"]
    on_b = partial(claim, engine, host="b")
    assert on_b("r0") is not None
    assert on_b("r1") is not None
    assert on_b("r2") is None
    assert ready(engine) == ["r2", "r3"]
    assert claim(engine, "r2", "c") is not None
    assert claim(engine, "r3", "c") is not None
    assert ready(engine) == ready(engine, "c") == []
    with event_store.reading(engine) as db:
        assert runs.count_held_by_host(db) == {"b": 2, "c": 2}


def test_the_boards_limit_counts_over_all_hosts(engine: Engine) -> None:
    limit(engine, 3)
    assert ready(engine) == ["r0", "r1", "r2"]
    assert claim(engine, "r0", "b") is not None
    assert claim(engine, "r1", "c") is not None
    assert claim(engine, "r2", "c") is not None
    assert claim(engine, "r3", "b") is None


def test_a_dead_or_drained_host_offers_no_worker(engine: Engine) -> None:
    fall_silent(engine, "c")
    assert ready(engine) == ["r0", "r1"]
    beat(engine, "c")
    assert len(ready(engine)) == 4
    with event_store.writing(engine) as db:
        hosts.drain(db, "c", drained=True)
    assert ready(engine) == ready(engine, "c") == ["r0", "r1"]
    assert claim(engine, "r0", "c") is None
    assert claim(engine, "r0", "b") is not None


def test_a_host_lives_however_long_others_write(config: Config, postgresql_ledger: str) -> None:
    engine = new_ledger(postgresql_ledger)
    with services_over(config, engine, Hub(config, clock=utc_now), utc_now) as services:
        with event_store.writing(engine):
            ticker.heartbeat(services)
        with event_store.reading(engine) as db:
            assert [row.name for row in hosts.list_hosts(db).at_work] == [services.host]


def test_the_host_that_asks_lives_whatever_its_row_says(engine: Engine) -> None:
    fall_silent(engine, "b")
    fall_silent(engine, "c")
    assert ready(engine) == ["r0", "r1"]
    with event_store.writing(engine) as db:
        hosts.remove_host(db, "b")
    assert ready(engine) == ["r0", "r1"]


def test_a_host_without_workers_of_runs_offers_none_and_sees_the_same_as_the_others(engine: Engine) -> None:
    """It ticks, and sends no heartbeats; alone, it looks as if it had some, and nobody takes them."""
    assert ready(engine, "ticks") == ready(engine) == ["r0", "r1", "r2", "r3"]
    assert claim(engine, "r0", "ticks") is None
    with event_store.reading(engine) as db:
        before = event_store.last_seq(db)
    limit(engine, 1)
    assert ready(engine, "ticks") == ["r0"]
    with event_store.reading(engine) as db:
        assert event_store.last_seq(db) > before + 1, "the others' reasons were not recorded"
    fall_silent(engine, "b")
    fall_silent(engine, "c")
    assert ready(engine, "ticks") == ["r0"]


def test_a_host_works_on_as_many_runs_as_it_has_workers_whatever_their_board(engine: Engine) -> None:
    other = BoardId("PVT_2")
    with event_store.writing(engine) as db:
        text = POLICY.replace("LIMIT", "20")
        event_store.append(db, replace(board_seen(), board_id=other), at=NOW)
        event_store.append(db, PolicyLoaded(other, "d", text, ""), at=NOW)
        moved = replace(card_seen("x0", 50), board_id=other)
        event_store.append(db, moved, run_queued("r90", "x0"), at=NOW)
        reactor.advance(db, now=NOW)
    assert len(ready(engine)) == 4
    for run_id, host in (("r0", "b"), ("r1", "b"), ("r2", "c")):
        assert claim(engine, run_id, host) is not None
    assert claim(engine, "r90", "b") is None
    assert claim(engine, "r3", "c") is None, "the last worker is the other board's"
    assert claim(engine, "r90", "c") is not None


def parked_on(engine: Engine, run_id: str, host: str, *, place: str) -> None:
    """Let a run of two claims' worth of work wait again, with its files on that host."""
    lease = claim(engine, run_id, host)
    assert lease is not None
    with event_store.writing(engine) as db:
        event = WorkspaceTaken(RunId(run_id), place, host, lease.generation)
        event_store.append(db, event, RunParked(RunId(run_id), "question"), at=NOW)
        leases.release(db, lease)
        event_store.append(db, RunRequeued(RunId(run_id), "answered"), at=NOW)
        reactor.advance(db, now=NOW)


def test_a_run_that_waited_goes_back_to_its_host_and_elsewhere_when_that_is_dead(engine: Engine) -> None:
    parked_on(engine, "r0", "c", place="c0")
    back = next(run for run in dispatch.ready_runs(engine, now=NOW, slots=2, host="b") if run.run_id == "r0")
    assert (back.host, back.generation) == ("c", 2)
    assert claim(engine, "r0", "b") is None
    fall_silent(engine, "c")
    back = next(run for run in dispatch.ready_runs(engine, now=NOW, slots=2, host="b") if run.run_id == "r0")
    assert back.host == ""
    assert claim(engine, "r0", "b") is not None


def test_a_run_that_waited_leaves_a_drained_host(engine: Engine) -> None:
    parked_on(engine, "r0", "c", place="c0")
    with event_store.writing(engine) as db:
        hosts.drain(db, "c", drained=True)
    assert claim(engine, "r0", "c") is None
    assert claim(engine, "r0", "b") is not None


def test_a_host_that_others_hold_for_dead_records_no_reasons_that_they_would_replace(engine: Engine) -> None:
    def last_seq() -> int:
        with event_store.reading(engine) as db:
            return event_store.last_seq(db)

    ready(engine, "b")
    ready(engine, "c")
    before = last_seq()
    assert [ready(engine, host) for host in ("b", "c", "b")] == [["r0", "r1", "r2", "r3"]] * 3
    assert last_seq() == before
    fall_silent(engine, "b")
    ready(engine, "c")
    before = last_seq()
    assert [len(ready(engine, host)) for host in ("b", "c", "b", "c")] == [4, 2, 4, 2]
    assert last_seq() == before
