"""A ledger that comes from a back-up hears later comments, and nothing twice."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.github import failed_deliveries
from bot.sync import sweep
from ledger.events.run import QuestionAnswered
from ledger.lifecycle import backup
from ledger.log import event_store
from ledger.queue import inbox
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal


def restart(cardinal: Cardinal) -> None:
    """Begin as a program of Cardinal does, and sweep."""
    with event_store.writing(cardinal.services.engine) as db:
        inbox.begin_search(db, cardinal.clock())
    cardinal.sweep()


def all_accepted(cardinal: Cardinal) -> None:
    for delivery in cardinal.forge.store.deliveries.all():
        delivery.status_code, delivery.status, delivery.delivered_at = 202, "OK", cardinal.clock()


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_answer_that_the_lost_ledger_had_is_heard_again(cardinal: Cardinal, tmp_path: Path) -> None:
    item, engine = cardinal.newest, cardinal.services.engine
    cardinal.ask(cardinal.run_of(item).run_id, "Which colour?", "Red", "Blue")
    cardinal.catch_up()
    all_accepted(cardinal)
    copy = tmp_path / "back-up.db"
    backup.backup(engine, copy)
    cardinal.clock.forward(120)
    cardinal.say(item, "Red")
    cardinal.catch_up()
    all_accepted(cardinal)
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["Red"]
    engine.dispose()
    backup.restore(copy, cardinal.services.config.database_url, overwrite_newer=True)
    assert cardinal.run_of(item).state is RunState.PARKED
    restart(cardinal)
    assert {delivery.action for delivery in cardinal.mail} >= {"created"}
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["Red"]
    assert cardinal.run_of(item).state is RunState.QUEUED
    restart(cardinal)
    assert list(cardinal.mail) == []


def test_a_start_without_a_loss_costs_one_call_and_requests_nothing(cardinal: Cardinal) -> None:
    cardinal.forge.store.deliveries.trim(0)
    cardinal.new(column="Tasks")
    cardinal.catch_up()
    all_accepted(cardinal)
    asked = len(cardinal.calls(failed_deliveries.PATH))
    for _ in range(2):
        cardinal.sweep()
    assert len(cardinal.calls(failed_deliveries.PATH)) == asked + 2
    restart(cardinal)
    cardinal.sweep()
    assert len(cardinal.calls(failed_deliveries.PATH)) == asked + 5
    assert list(cardinal.mail) == []


def test_many_lost_deliveries_are_requested_over_several_sweeps(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch
) -> None:
    cardinal.forge.store.deliveries.trim(0)
    cardinal.new(column="Tasks")
    cardinal.catch_up()
    cardinal.clock.forward(timedelta(hours=1).total_seconds())
    for number in range(5):
        cardinal.new(f"Idea {number}", column="Tasks")
    lost = [delivery.guid for delivery in cardinal.mail]
    cardinal.mail.clear()
    all_accepted(cardinal)
    monkeypatch.setattr(failed_deliveries, "MAX_ASKED", len(lost) // 2)
    with event_store.writing(cardinal.services.engine) as db:
        inbox.begin_search(db, cardinal.clock())
    requested: list[str] = []
    for _ in range(3):
        sweep.recover_deliveries(cardinal.process)
        requested += [delivery.guid for delivery in cardinal.mail]
        cardinal.catch_up()
        all_accepted(cardinal)
    assert requested == lost
    with event_store.reading(cardinal.services.engine) as db:
        assert inbox.search_start(db) is None
