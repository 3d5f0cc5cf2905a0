"""What a dead worker, a failing GitHub and a failing rule leave behind, and who goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from pysqlite3 import dbapi2 as sqlite
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from bot.ingest import delivery
from bot.reactor import reactor
from bot.runspec import retry
from bot.scheduler import dispatch, jobs, ticker
from bot.system import liveness
from forge.store.board import Item
from ledger.errors import StaleClaimError
from ledger.event import Event
from ledger.events.board import CardMoved
from ledger.events.conversation import PersonSaid
from ledger.events.run import Progressed, RunEnded, RunRequeued
from ledger.ids import CardId, DeliveryId, RunId
from ledger.log import event_store
from ledger.queue import inbox, leases, outbox
from ledger.states import Ending
from rules.decide import decide
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.settings import with_column


def at_work(cardinal: Cardinal) -> tuple[Item, RunId]:
    """Return the card of the scene, and its run."""
    item = cardinal.newest
    return item, cardinal.run_of(item).run_id


def lose_the_worker(cardinal: Cardinal) -> tuple[RunId, ...]:
    cardinal.clock.forward(cardinal.services.config.lease_s + 1)
    return dispatch.reap_runs(cardinal.services.engine, now=cardinal.clock())


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_run_whose_worker_is_silent_is_queued_again_and_the_old_worker_is_refused(
    cardinal: Cardinal,
) -> None:
    item, run_id = at_work(cardinal)
    assert lose_the_worker(cardinal) == (run_id,)
    assert [run_requeued.why for run_requeued in cardinal.events(RunRequeued)] == ["reclaimed"]
    lengths = [retry.lease_s(cardinal.services, reclaims) for reclaims in (0, 1, 2, 3)]
    assert lengths == [factor * cardinal.services.config.lease_s for factor in (1, 2, 4, 4)]
    with pytest.raises(StaleClaimError):
        cardinal.write(run_id, Progressed(run_id, "still here"))
    cardinal.catch_up()
    assert cardinal.face(item)["Agent"].endswith("queued")
    old = cardinal.leases[run_id]
    cardinal.begin(run_id)
    assert cardinal.leases[run_id].generation > old.generation


def test_a_run_that_loses_every_worker_is_lost_and_says_what_to_do(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(retries="1"))
    cardinal.catch_up()
    cardinal.at_work()
    item, run_id = at_work(cardinal)
    assert lose_the_worker(cardinal) == (run_id,)
    cardinal.begin(run_id)
    assert lose_the_worker(cardinal) == (run_id,)
    run = cardinal.run(run_id)
    assert (run.state, run.ending, run.reason) == ("ended", "lost", "gave_up")
    cardinal.catch_up()
    assert "was lost: its worker disappeared 2 times" in cardinal.card(item).because
    assert cardinal.face(item)["Agent"].endswith("failed")
    assert "gave up" in cardinal.told(item)[-1].lower() or "lost" in cardinal.told(item)[-1]
    assert lose_the_worker(cardinal) == ()
    cardinal.assert_nothing_is_stuck()


def test_a_run_that_loses_its_workers_to_an_outage_of_the_ledger_spends_no_retry(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(retries="0"))
    cardinal.catch_up()
    cardinal.new(column="In Progress")
    cardinal.catch_up()
    (run_id,), engine = cardinal.ready(), cardinal.services.engine
    for _ in range(3):
        dead = liveness.name(2**22 + 5)  # beyond the largest pid of Linux
        assert dispatch.claim_run(engine, run_id, worker=dead, now=cardinal.clock(), ttl_s=600, slots=4)
        with pytest.raises(OperationalError), away(engine):
            ticker.tick(cardinal.services)
        ticker.tick(cardinal.services)
    known = [(it.why, "ledger was away" in it.detail) for it in cardinal.events(RunRequeued)]
    assert known == [("handed_back", True)] * 3
    cardinal.begin(run_id)
    assert lose_the_worker(cardinal) == (run_id,)
    assert cardinal.run(run_id).reason == "gave_up"


@contextmanager
def away(engine: Engine) -> Iterator[None]:
    """Let nobody connect to the ledger."""

    def refuse(*_: object) -> None:
        raise sqlite.OperationalError("unable to open database file")

    engine.dispose()
    event.listen(engine, "do_connect", refuse)
    try:
        yield
    finally:
        event.remove(engine, "do_connect", refuse)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_worker_that_is_told_to_go_hands_its_run_back(cardinal: Cardinal) -> None:
    item, run_id = at_work(cardinal)
    lease = cardinal.leases[run_id]
    dispatch.let_go(cardinal.services.engine, run_id, lease, now=cardinal.clock())
    assert [run_requeued.why for run_requeued in cardinal.events(RunRequeued)] == ["handed_back"]
    assert cardinal.ready() == (run_id,)
    dispatch.let_go(cardinal.services.engine, run_id, lease, now=cardinal.clock())
    assert len(cardinal.events(RunRequeued)) == 1
    assert cardinal.run_of(item).reclaims == 0


def test_claims_of_a_dead_process_end_at_the_next_tick(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    dead = liveness.name(2**22 + 5)  # beyond the largest pid of Linux
    engine, now = cardinal.services.engine, cardinal.clock()
    assert dispatch.claim_run(engine, run_id, worker=dead, now=now, ttl_s=600, slots=4) is not None
    ticker.tick(cardinal.services)
    assert cardinal.run(run_id).state == "queued"
    with event_store.reading(engine) as db:
        assert leases.holders(db) == ()


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_tick_finds_what_every_wake_up_lost(cardinal: Cardinal) -> None:
    """No Redis answers here at all, and a tick still lets the rules see what was appended."""
    item, run_id = at_work(cardinal)
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(
            db, RunEnded(run_id, Ending.FAILED, "stalled", "silent", "working"), at=cardinal.clock()
        )
    ticker.tick(cardinal.services)
    assert cardinal.card(item).state == "failed"


@pytest.mark.after(scene=Cardinal.at_work)
def test_github_being_away_for_a_while_neither_loses_nor_doubles_a_word(cardinal: Cardinal) -> None:
    item, _ = at_work(cardinal)
    lost = {"path": "/comments", "status": 502, "count": 2, "after": True}
    cardinal.forge.store.faults.load({"api": [lost]})
    cardinal.say(item, "/cardinal status", who="bob")
    cardinal.catch_up()
    assert len(cardinal.told(item)) == 2
    assert cardinal.forge.store.faults.api[0].count == 0
    cardinal.assert_no_leftovers()


END_SESSION = """
CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql
  AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); RETURN NEW; END';
CREATE TRIGGER cut BEFORE INSERT ON inbox FOR EACH ROW WHEN (NEW.state = 'done')
  EXECUTE FUNCTION end_session()
"""


def test_a_delivery_is_recorded_however_often_the_database_ends_the_session_before(
    tmp_path: Path, postgresql_ledger: str
) -> None:
    with opened(tmp_path, database_url=postgresql_ledger) as cardinal:
        engine = cardinal.services.engine
        item = cardinal.new()
        cardinal.catch_up()
        with event_store.writing(engine) as db:
            db.exec_driver_sql(END_SESSION)
        cardinal.say(item, "This must not get lost.", who="bob")
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        (delivery_id,) = inbox.due_deliveries(engine, limit=2)
        for _ in range(delivery.MAX_ATTEMPTS):
            with pytest.raises(delivery.DeliveryError):
                delivery.ingest(cardinal.services, delivery_id)
        with event_store.writing(engine) as db:
            db.exec_driver_sql("DROP TRIGGER cut ON inbox")
        delivery.ingest(cardinal.services, delivery_id)
        assert [it.text for it in cardinal.events(PersonSaid)] == ["This must not get lost."]


@pytest.mark.parametrize(
    "body", [b'{"action": "created"}', b"[]", b"nonsense", b'{"comment": \xff\xfe}', b'{"a":' * 200]
)
def test_a_delivery_without_sense_is_quarantined_at_once_or_after_a_few_tries(
    cardinal: Cardinal, body: bytes
) -> None:
    before = cardinal.count()
    cardinal.post("issue_comment", body, "bad-1", "created")
    for _ in range(10):
        cardinal.catch_up()
        cardinal.clock.forward(60)
    with event_store.reading(cardinal.services.engine) as db:
        (quarantined,) = inbox.list_quarantined(db)
        assert quarantined.delivery_id == DeliveryId("bad-1")
        assert quarantined.error
    assert cardinal.count() == before
    assert inbox.due_deliveries(cardinal.services.engine, limit=5) == ()


def test_an_event_of_github_that_cardinal_does_not_know_is_stored_and_ignored(cardinal: Cardinal) -> None:
    before = cardinal.count()
    cardinal.post("discussion", b'{"action": "created"}', "d-1", "created")
    cardinal.post("../../evil", b"{}", "d-2")
    cardinal.catch_up()
    assert cardinal.count() == before
    cardinal.assert_nothing_is_stuck()


def test_a_run_whose_repository_has_a_broken_policy_fails_with_the_place(cardinal: Cardinal) -> None:
    files: dict[str, bytes | None] = {".github/cardinal.yml": b"version: 1\nrepository: {valdation: {}}\n"}
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "Oops", actor=alice)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    jobs.carry_out(cardinal.services, cardinal.run_of(item).run_id)
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.ending, run.reason) == ("failed", "repository")
    assert "did you mean validation" in run.detail.lower()
    assert "valdation" in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


def test_a_run_whose_agent_is_killed_is_tried_as_often_as_its_retries_say_and_then_lost(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(retries="1"))
    cardinal.scenario(work=["crash"])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    said = "the agent's program was killed (signal 9): the machine may have run out of memory"
    assert [(one.why, one.detail) for one in cardinal.events(RunRequeued)] == [("reclaimed", said)]
    run = cardinal.run_of(item)
    assert (run.state, run.ending, run.reason) == ("ended", "lost", "gave_up")
    assert run.detail.startswith(f"{said}; this was attempt 2. Give it more memory")
    assert said in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


def test_an_event_that_the_rules_fail_on_is_said_on_its_card_and_stops_nobody_else(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = cardinal.new("Bad"), cardinal.new("Good")
    cardinal.catch_up()

    def failing(policy: Policy, snapshot: Snapshot | None, event: Event, now: datetime) -> Decision:
        decision = decide(policy, snapshot, event, now)
        if isinstance(event, CardMoved) and event.card_id == bad.node_id:
            raise KeyError("a bug")
        return decision

    moves = [CardMoved(CardId(item.node_id), "Tasks", "In Progress", False) for item in (bad, good)]
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, *moves, at=cardinal.clock())
        reactor.advance(db, now=cardinal.clock(), rules=failing)
        assert reactor.behind(db) == 0
    assert cardinal.card(bad).run_id is None
    assert "(KeyError): please report this" in cardinal.card(bad).because
    assert cardinal.run_of(good).state == "queued"
    assert "rules failed event=" in caplog.text
    caplog.clear()
    with event_store.reading(cardinal.services.engine) as db:
        assert outbox.open_of_card(db, CardId(good.node_id)) != ()
