"""A commit whose answer is lost has happened: who asked for it lives on, and does nothing twice."""

import pytest

from tests.faults import cells, playing, record
from tests.faults.nights import each_story_tonight, of_night
from tests.faults.points import UNHEARD, Fault, Kind
from tests.faults.test_cells import assert_plays

AT_ONCE = 8
pytestmark = pytest.mark.timeout(1_800)


def test_a_story_ends_as_the_quiet_one_though_commits_are_not_answered() -> None:
    commits = [point for point in record.first_points()["quiet"] if point.startswith(Kind.COMMIT)]
    chosen = commits[:: len(commits) // AT_ONCE]
    played = playing.play("quiet", dict.fromkeys(chosen, Fault.LOST_AFTER_EFFECT))
    assert (len(played.struck), played.differences(playing.quiet("quiet"))) == (len(chosen), "")


@pytest.mark.soak(
    instead="tests/faults/test_unheard_commits.py::"
    "test_a_story_ends_as_the_quiet_one_though_commits_are_not_answered"
)
@each_story_tonight
def test_every_story_ends_so_whichever_commit_is_not_answered(story: str, night: int) -> None:
    every = list(cells.cells_of(story, playing.quiet(story).trace, UNHEARD))
    assert_plays(of_night(cells.together(every, at_once=3), night))
