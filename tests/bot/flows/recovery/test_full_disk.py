"""A disk that is full is logged and found by the doctor, and said on the board once there is room again."""

from pathlib import Path
from threading import Event

import pytest

from bot.admin.doctor import DoctorContext, host
from bot.admin.doctor.host import FREE_BYTES
from bot.scheduler import alarms, ticker
from bot.scheduler.alarms import FULL_BYTES
from ledger.events.board import DiskWasFull
from ledger.queue.examinations import Level
from tests.bot.flows.cardinal import Cardinal


def full(_place: Path) -> int:
    return FULL_BYTES - 1


def roomy(_place: Path) -> int:
    return FREE_BYTES


def test_it_is_logged_meanwhile_and_said_on_the_board_once_there_is_room(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    cardinal.catch_up()
    alarms.watch_disk(cardinal.services, roomy)
    assert (cardinal.events(DiskWasFull), caplog.text) == ([], "")
    began = cardinal.clock()
    for _ in range(2):
        alarms.watch_disk(cardinal.services, full)
        cardinal.clock.forward(1800)
    assert caplog.text.count("disk full home=") == 2
    assert cardinal.events(DiskWasFull) == []
    ended = cardinal.clock()
    for _ in range(2):
        alarms.watch_disk(cardinal.services, roomy)
    assert [abs(event.since - began).total_seconds() < 1 for event in cardinal.events(DiskWasFull)] == [True]
    cardinal.catch_up()
    span = f"from {began:%d %b %H:%M} to {ended:%d %b %H:%M} UTC"
    assert f"Cardinal's disk was full {span}" in cardinal.project.status_updates[-1].body

    cardinal.clock.forward(24 * 3600)
    cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    assert "disk" not in cardinal.project.status_updates[-1].body


def test_a_disk_that_takes_not_even_the_mark_is_logged_and_looked_at_again(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    mark = cardinal.services.config.home / alarms.MARK
    mark.parent.mkdir(exist_ok=True)
    mark.symlink_to("/proc/cardinal/mark")  # where nobody can make a file
    alarms.watch_disk(cardinal.services, full)
    assert "disk full mark=" in caplog.text
    mark.unlink()
    alarms.watch_disk(cardinal.services, full)
    alarms.watch_disk(cardinal.services, roomy)
    assert len(cardinal.events(DiskWasFull)) == 1


def test_the_doctor_says_of_a_home_that_cannot_be_written_what_to_do(cardinal: Cardinal) -> None:
    patient = DoctorContext(
        cardinal.services.config, cardinal.services.engine, cardinal.services.hub, cardinal.clock()
    )
    (result,) = host.home(patient, lambda _home, _mode: False)
    assert (result.level, "CARDINAL_HOME" in result.next_step) == (Level.FAIL, True)
    assert result.message == f"{patient.config.home} cannot be written"


class OneRound(Event):
    """Set as soon as somebody waits for it."""

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return True


def test_the_heartbeat_looks_after_the_disk(cardinal: Cardinal) -> None:
    mark = cardinal.services.config.home / alarms.MARK
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    ticker.run_forever(cardinal.services, OneRound())
    assert len(cardinal.events(DiskWasFull)) == 1


@pytest.mark.parametrize(
    ("free", "level", "said"),
    [
        (FULL_BYTES - 1, Level.FAIL, "it is full"),
        (FREE_BYTES - 1, Level.WARN, "are free at"),
        (FREE_BYTES, Level.OK, "are free"),
    ],
)
def test_the_doctor_says_how_much_room_there_is(
    cardinal: Cardinal, free: int, level: Level, said: str
) -> None:
    patient = DoctorContext(
        cardinal.services.config, cardinal.services.engine, cardinal.services.hub, cardinal.clock()
    )
    (result,) = host.disk(patient, lambda _place: free)
    assert (result.level, said in result.message) == (level, True)
    assert ("free some space" in result.next_step) is (level is not Level.OK)
