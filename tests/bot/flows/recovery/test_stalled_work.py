"""Ready work that no worker takes raises an alarm, and nothing promises a worker that is not there."""

import pytest
from sqlalchemy import event

from bot.scheduler import alarms
from bot.system.program import TRIAL
from forge.store.board import Item
from ledger.events.board import CardExplained, WorkStalled
from ledger.queries.standstill import STALLED_AFTER
from ledger.states import RunState
from rules.explain import why
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_gate import SOUND, push
from tests.bot.flows.pulls.test_review import delivered
from tests.ledger.traced import traced
from tests.rules import scene


def waiting(cardinal: Cardinal) -> Item:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    assert cardinal.ready()
    return item


def test_ready_work_that_no_worker_takes_is_said_on_card_board_and_log_once(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    item = waiting(cardinal)
    (cardinal.services.config.home / TRIAL).touch()
    alarms.watch_starts(cardinal.services)
    cardinal.clock.forward(30)
    alarms.watch_starts(cardinal.services)
    assert cardinal.events(WorkStalled) == []
    for _ in range(2):
        cardinal.clock.forward(40)
        alarms.watch_starts(cardinal.services)
    assert [work_stalled.runs for work_stalled in cardinal.events(WorkStalled)] == [1]
    assert caplog.text.count("ready work starts nowhere") == 1
    assert "see that `cardinal try` runs" in cardinal.events(CardExplained)[-1].because
    cardinal.catch_up()
    assert "no worker takes it" in cardinal.face(item)["Progress"]
    assert "1 run ready to start, but no worker takes them" in cardinal.project.status_updates[-1].body
    assert str(cardinal.project.status_updates[-1].status) == "OFF_TRACK"

    cardinal.begin(cardinal.run_of(item).run_id)
    assert cardinal.ready() == ()
    alarms.watch_starts(cardinal.services)
    cardinal.catch_up()
    assert [work_stalled.runs for work_stalled in cardinal.events(WorkStalled)] == [1, 0]
    assert "no worker" not in cardinal.project.status_updates[-1].body
    assert "no worker" not in cardinal.face(item)["Progress"]


def test_a_check_that_no_worker_takes_is_said_on_the_board_and_not_on_its_card(cardinal: Cardinal) -> None:
    item = delivered(cardinal)
    push(cardinal, cardinal.pull_of(item), SOUND)
    cardinal.catch_up()
    said = cardinal.face(item)["Progress"]
    for _ in range(2):
        alarms.watch_starts(cardinal.services)
        cardinal.clock.forward(61)
    cardinal.catch_up()
    assert [work_stalled.runs for work_stalled in cardinal.events(WorkStalled)] == [1]
    assert "no worker takes them" in cardinal.project.status_updates[-1].body
    assert cardinal.face(item)["Progress"] == said  # the check would not take it back when it runs


@pytest.mark.parametrize("work", [False, True], ids=["no work", "work that is late"])
def test_a_tick_on_which_nothing_happened_and_no_run_is_due_reads_nothing(
    cardinal: Cardinal, work: bool
) -> None:
    if work:
        waiting(cardinal)
        alarms.watch_starts(cardinal.services)
    cardinal.clock.forward(STALLED_AFTER.total_seconds())
    for _ in range(3):  # the alarm is an event, and its reason another
        cardinal.catch_up()
        cardinal.ready()
        alarms.watch_starts(cardinal.services)
    cardinal.clock.forward(30)
    with traced(cardinal.services.engine) as statements:
        alarms.watch_starts(cardinal.services)
    assert statements == []
    assert len(cardinal.events(WorkStalled)) == work


def test_an_alarm_that_could_not_be_recorded_is_raised_at_the_next_tick(cardinal: Cardinal) -> None:
    waiting(cardinal)
    alarms.watch_starts(cardinal.services)
    cardinal.clock.forward(61)

    def refuse(*_given: object) -> None:
        raise InterruptedError

    cardinal.services.engine.dispose()  # what comes begins on new connections
    event.listen(cardinal.services.engine, "begin", refuse)
    with pytest.raises(InterruptedError):
        alarms.watch_starts(cardinal.services)
    event.remove(cardinal.services.engine, "begin", refuse)
    alarms.watch_starts(cardinal.services)
    assert [work_stalled.runs for work_stalled in cardinal.events(WorkStalled)] == [1]


def test_a_run_that_waits_for_its_turn_raises_no_alarm(cardinal: Cardinal) -> None:
    for number in range(4):
        cardinal.new(f"Card {number}", column="In Progress")
    cardinal.catch_up()
    for run_id in cardinal.ready():
        cardinal.begin(run_id)
    for _ in range(3):
        cardinal.clock.forward(60)
        alarms.watch_starts(cardinal.services)
    assert cardinal.events(WorkStalled) == []


def test_nothing_promises_a_worker() -> None:
    queued = scene.card(run=scene.run(RunState.QUEUED), place=0)
    assert "worker" not in why(scene.POLICY, queued)
