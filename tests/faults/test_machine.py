"""Whatever people do, and whatever goes wrong meanwhile: the laws of `laws.py` hold after each step."""

import time

import pytest

from tests.faults import machine

SHARES = 8  # of a night
pytestmark = pytest.mark.timeout(1800)


def test_the_laws_hold_on_boards_that_are_always_the_same() -> None:
    machine.play(1, examples=6, steps=20)


@pytest.mark.soak(
    instead="tests/faults/test_machine.py::test_the_laws_hold_on_boards_that_are_always_the_same"
)
@pytest.mark.parametrize("share", range(SHARES))
def test_the_laws_hold_on_boards_that_are_new_each_night(share: int) -> None:
    """Play 40,000 steps in all shares, by seeds of the night."""
    night = int(time.time()) // 86_400
    chosen = night * SHARES + share
    print(f"scripts/faults --play {chosen}")
    machine.play(chosen, examples=100, steps=50)
