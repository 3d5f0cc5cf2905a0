"""Whatever is killed and however deliveries come: the story ends merged, and everything was said once.

Two stories are played for every change: one in which each kind of process dies, one with every fault that
deliveries have. All other moments and victims are for the soak.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.chaos import conftest, matrix
from tests.chaos.playing import Played
from tests.chaos.plots import DELIVERIES, EACH_FAULT, EACH_PROCESS, KILLS, LEAVING, PLOTS, QUIET
from tests.chaos.tally import check_once

Stories = Callable[[str], Played]
pytestmark = pytest.mark.timeout(conftest.PATIENCE_S + 20)


def rows(plots: Iterable[str]) -> list[Any]:
    """Return a row for each plot; those that not every change must pass are marked."""
    often = (EACH_PROCESS, EACH_FAULT)
    return [pytest.param(plot, marks=() if plot in often else pytest.mark.soak) for plot in plots]


@pytest.mark.soak(
    instead="tests/install/test_wheel.py::test_the_demo_plays_the_whole_story_and_saw_every_step"
)
@pytest.mark.parametrize("plot", [QUIET])
def test_the_quiet_story_ends_merged_with_everything_said_once(plot: str, played: Stories) -> None:
    story = played(plot)
    check_once(story.tally)
    assert story.left == ()


@pytest.mark.parametrize("plot", rows(KILLS))
def test_whatever_is_killed_everything_is_said_once_and_nothing_is_left(plot: str, played: Stories) -> None:
    story = played(plot)
    conftest.ROWS.extend(matrix.Row(plot, hit) for hit in story.struck)
    assert len(story.struck) == len(PLOTS[plot].blows)
    check_once(story.tally)
    assert story.left == ()


@pytest.mark.parametrize("plot", rows(DELIVERIES))
def test_however_deliveries_come_everything_is_said_once(plot: str, played: Stories) -> None:
    check_once(played(plot).tally)


@pytest.mark.parametrize(
    ("plot", "other"),
    [
        (EACH_PROCESS, EACH_FAULT),
        *(pytest.param(one, QUIET, marks=pytest.mark.soak) for one in (*KILLS, *DELIVERIES)),
    ],
)
def test_stories_that_broke_in_different_ways_end_in_the_same_state(
    plot: str, other: str, played: Stories
) -> None:
    assert played(plot).tally == played(other).tally


@pytest.mark.soak(
    instead="tests/chaos/test_story.py::test_whatever_is_killed_everything_is_said_once_and_nothing_is_left"
)
@pytest.mark.parametrize("plot", [LEAVING])
def test_a_move_that_was_not_settled_is_never_taken_for_a_persons(plot: str, played: Stories) -> None:
    story = played(plot)
    end = "put back, asked once"
    conftest.ROWS.extend(matrix.Row(plot, hit, end) for hit in story.struck)
    assert story.left == ()
