"""Whatever is killed and however deliveries come: the story ends merged, and everything was said once."""

from collections.abc import Callable

import pytest

from tests.chaos import conftest, matrix
from tests.chaos.playing import Played
from tests.chaos.plots import DELIVERIES, KILLS, LEAVING, PLOTS, QUIET
from tests.chaos.tally import check_once

Stories = Callable[[str], Played]
pytestmark = pytest.mark.timeout(conftest.PATIENCE_S + 20)


@pytest.mark.parametrize("plot", [QUIET])
def test_the_quiet_story_ends_merged_with_everything_said_once(plot: str, played: Stories) -> None:
    story = played(plot)
    check_once(story.tally)
    assert story.left == ()


@pytest.mark.parametrize("plot", KILLS)
def test_whatever_is_killed_the_story_ends_as_if_nothing_had_been(plot: str, played: Stories) -> None:
    story = played(plot)
    conftest.ROWS.extend(matrix.Row(plot, hit) for hit in story.struck)
    assert len(story.struck) == len(PLOTS[plot].blows)
    check_once(story.tally)
    assert story.tally == played(QUIET).tally
    assert story.left == ()


@pytest.mark.parametrize("plot", DELIVERIES)
def test_however_deliveries_come_the_final_state_is_the_same(plot: str, played: Stories) -> None:
    story = played(plot)
    check_once(story.tally)
    assert story.tally == played(QUIET).tally


@pytest.mark.parametrize("plot", [LEAVING])
def test_a_move_that_was_not_settled_is_never_taken_for_a_persons(plot: str, played: Stories) -> None:
    story = played(plot)
    end = "put back, asked once"
    conftest.ROWS.extend(matrix.Row(plot, hit, end) for hit in story.struck)
    assert story.left == ()
