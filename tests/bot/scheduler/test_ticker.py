"""The ticker's pace."""

from bot.scheduler.ticker import QUIET_S, pause_s


def test_a_tick_comes_half_as_often_while_nothing_happens() -> None:
    assert pause_s(0.5, 0) == pause_s(0.5, QUIET_S) == 0.5
    assert pause_s(0.5, QUIET_S + 1) == 1.0
