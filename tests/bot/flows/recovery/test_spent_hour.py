"""While GitHub's hour is spent nothing is begun that would fail; after the reset all of it goes on."""

import json

import pytest

from bot.ingest import delivery
from bot.scheduler import jobs, ticker, wakeups
from ledger.events.board import WorkStalled
from ledger.events.run import RunClaimed, RunRequeued
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import hosts, inbox
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal


def spend_the_hour(cardinal: Cardinal) -> float:
    """Let an answer to any host tell that no call is left; return the seconds until the reset."""
    budget = cardinal.services.hub.budget
    usage, now_s = budget.read_usage()
    hour = usage.windows["core"]
    figures = {"limit": hour.limit, "remaining": 0, "reset": hour.reset_s}
    budget.learn({f"x-ratelimit-{name}": str(it) for name, it in figures.items()})
    return hour.reset_s - now_s


def test_no_job_is_begun_before_the_reset_and_all_of_them_after_it(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.new(column="In Progress")
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    for delivery_id in inbox.due_deliveries(cardinal.services.engine, limit=9):
        delivery.ingest(cardinal.process, delivery_id)  # the cards that it names are not read
    reset_s = spend_the_hour(cardinal)
    cardinal.forge.gateway.calls.clear()
    for _ in range(3):
        ticker.tick(cardinal.process)
        ticker.request_sweeps(cardinal.process)
        cardinal.clock.forward(61)
    assert wakeups.ready(cardinal.process, cardinal.clock()) == ()
    jobs.carry_out(cardinal.process, run_id)
    assert cardinal.events(RunClaimed) == []
    assert cardinal.events(WorkStalled) == []
    assert "GitHub takes no more calls before" in cardinal.card(item).because
    wanted = ("job=sync_card", "job=rank_columns", "job=sweep_board", "job=run-")
    assert [line for line in caplog.messages if any(job in line for job in wanted)] == []
    assert sum("GitHub's limit is spent" in line for line in caplog.messages) == 1
    assert not cardinal.forge.gateway.calls
    with event_store.reading(cardinal.services.engine) as db:
        assert hosts.list_hosts(db).rows, "heartbeats do not depend on GitHub"

    cardinal.clock.forward(reset_s)
    ticker.tick(cardinal.process)
    ticker.request_sweeps(cardinal.process)
    for job in ("job=sweep_board", "job=run-"):
        assert any(job in line for line in caplog.messages)
    assert sum("GitHub takes calls again" in line for line in caplog.messages) == 1


def test_a_run_that_meets_a_spent_hour_at_its_start_is_queued_again(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    wakeups.ready(cardinal.process, cardinal.clock())  # just before the hour is spent
    spend_the_hour(cardinal)
    jobs.carry_out(cardinal.process, run_id)
    assert cardinal.run_of(item).state is RunState.QUEUED
    (requeued,) = cardinal.events(RunRequeued)
    assert requeued.why == "handed_back"
    assert cardinal.run_of(item).reclaims == 0


def test_after_the_reset_deliveries_of_people_are_due_before_those_of_apps(
    cardinal: Cardinal,
) -> None:
    cardinal.say(cardinal.new(column="In Progress"), "/cardinal status")
    mail = cardinal.mail.pop()
    by_app = json.loads(mail.body)
    by_app["sender"]["type"] = "Bot"
    cardinal.catch_up()
    reset_s = spend_the_hour(cardinal)
    cardinal.post(mail.event, json.dumps(by_app).encode(), "by-app", mail.action or "")
    cardinal.post(mail.event, mail.body, "by-a-person", mail.action or "")
    cardinal.ingest()
    assert cardinal.failures == []
    due = [
        inbox.due_deliveries(cardinal.services.engine, limit=9, late_s=-reset_s - late_s) for late_s in (2, 9)
    ]
    assert due == [(DeliveryId("by-a-person"),), (DeliveryId("by-a-person"), DeliveryId("by-app"))]
