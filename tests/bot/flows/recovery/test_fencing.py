"""A host that cannot reach the ledger stops working before another takes its run; no host's clock decides."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine

from bot.scheduler import dispatch, jobs, ticker
from ledger.db.clock import CLOCK, database_now
from ledger.events.run import PlanProposed, Progressed, RunEnded, RunRequeued
from ledger.ids import RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import leases, outbox
from ledger.queue.leases import Lease
from runner.gateway.control.link import Gateway
from runner.gateway.control.terms import Terms
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.ledger.claims import claim_next
from tests.waiting import until
from tests.wire import wired

LEASE_S = 3.0
DONE = {"finish": {"done": "Nothing was needed.", "nothing_to_do": True}}


def lease_of(engine: Engine, run_id: RunId) -> tuple[Lease | None, datetime]:
    """Return the run's lease if it is over, and the database's time."""
    with event_store.reading(engine) as db:
        over = [lease for lease in leases.list_expired(db, f"run:{run_id}") if lease.name == f"run:{run_id}"]
        return (over[0] if over else None), database_now(db)


@contextmanager
def worker(cardinal: Cardinal, url: str, run_id: RunId) -> Iterator[psutil.Process]:
    """Carry the run out in a process of its own, as a worker of another host that has a gateway too."""
    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            services = replace(cardinal.services, engine=open_ledger(url), name="far-1", host="far")
            gateway = Gateway.spawn(services.config.home / "g", Terms(()), {})
            jobs.carry_out(services, run_id, process_of_its_own=True)
            gateway.close()
        os._exit(0)
    try:
        yield psutil.Process(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("stopped", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_host_that_is_cut_off_has_ended_its_agent_and_gateway_when_another_takes_the_run(
    tmp_path: Path, postgresql_ledger: str, stopped: bool
) -> None:
    with (
        opened(tmp_path, database_url=postgresql_ledger) as cardinal,
        wired(postgresql_ledger) as (url, wire),
    ):
        engine = cardinal.services.engine
        cardinal.configure(lease_s=LEASE_S)
        cardinal.scenario(work=[{"progress": "Busy"}, {"sleep": 600}, DONE])
        item = cardinal.new(column="In Progress")
        cardinal.catch_up()
        run_id = cardinal.run_of(item).run_id
        with worker(cardinal, url, run_id) as far:
            until(lambda: any(one.text == "Busy" for one in cardinal.events(Progressed)), "the agent works")
            family = [far, *far.children(recursive=True)]
            assert len(family) >= 4, "a watchdog, a gateway, and an agent"
            wire.cut()
            if stopped:
                far.suspend()
            until(lambda: not any(map(alive, family)), "nothing of the run lives")
            engine.update_execution_options(**{CLOCK: None})
            over, now = lease_of(engine, run_id)
            assert over is None, f"dead at {now}, but its lease was over at {over and over.until}"
            until(lambda: lease_of(engine, run_id)[0], "the lease is over")
            assert dispatch.reap_runs(engine, now=cardinal.clock()) == (run_id,)
        cardinal.scenario(work=[DONE])
        jobs.carry_out(cardinal.services, run_id)
        engine.update_execution_options(**{CLOCK: cardinal.clock})
        cardinal.catch_up()
        assert [event.why for event in cardinal.events(RunRequeued)] == ["reclaimed"]
        assert cardinal.run(run_id).ending == "succeeded", cardinal.run(run_id).detail
        assert len(cardinal.events(PlanProposed)) == len(cardinal.events(RunEnded)) == 1
        status, report = cardinal.told(item)
        assert "1. Add it" in status
        assert "> Nothing was needed." in report
        cardinal.assert_nothing_is_stuck()


@pytest.mark.parametrize("off_s", [-30, 30])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_host_whose_clock_is_off_steals_nothing_and_makes_nothing_late(
    tmp_path: Path, kind: str, off_s: float, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgresql_ledger") if kind == "postgresql" else ""
    with opened(tmp_path, database_url=url) as cardinal:
        engine, right = cardinal.services.engine, cardinal.services
        engine.update_execution_options(**{CLOCK: None})  # the true time: the database's

        def wrong() -> datetime:
            return datetime.now(UTC) + timedelta(seconds=off_s)

        cardinal.new(column="In Progress")
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        context = replace(right.context, clock=wrong)
        config = replace(right.config, lease_s=15)
        cardinal.services = replace(right, clock=wrong, name="off-1", context=context, config=config)
        assert cardinal.ingest() > 0  # stored by a host with the right time, and due at once
        cardinal.serve_refreshes()
        (run_id,) = cardinal.ready()
        due_s = outbox.next_due_s(engine, "github")
        assert due_s is not None
        assert due_s <= 0  # put by the host whose clock is off
        assert cardinal.claim(run_id)
        entry = claim_next(engine, "github", lease_s=45, holder="right-1")
        assert entry is not None
        with event_store.writing(engine) as db:
            assert leases.take(db, "look:x", "right-1", ttl_s=15) is not None
            assert leases.take(db, "look:x", "off-1", ttl_s=15) is None
        ticker.tick(cardinal.services)
        assert dispatch.reap_runs(engine, now=wrong()) == ()
        other = claim_next(engine, "github", lease_s=45, holder="off-1")
        assert other is None or other.entry_id != entry.entry_id
        assert cardinal.run(run_id).state == "claimed"
