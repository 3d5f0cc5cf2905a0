"""A clock that is put forward or back by hours, for good or for a step: nothing is said twice or waits on."""

import pytest

from tests.faults import playing, record
from tests.faults.points import Fault
from tests.faults.stories import STORIES

HOUR = 3600
JUMPS = (5 * HOUR, -5 * HOUR, 26 * HOUR, -26 * HOUR)
pytestmark = pytest.mark.timeout(900)


def test_a_comment_is_posted_once_and_an_answer_is_heard_while_the_clock_is_ahead() -> None:
    posts = [
        point
        for point in record.first_points()["quiet"]
        if point.startswith("send:POST") and "comments" in point
    ]
    played = playing.play("quiet", dict.fromkeys(posts, Fault.KILL_AFTER), clocks={0: 5 * HOUR})
    assert (len(played.struck), played.differences(playing.quiet("quiet"))) == (len(posts), "")


def test_a_story_goes_on_once_a_clock_that_was_ahead_is_put_right() -> None:
    """The run asks while the clock is ahead; it is right again when the answer is read."""
    played = playing.play("quiet", clocks={1: 26 * HOUR, 3: 0, 5: -5 * HOUR})
    assert played.differences(playing.quiet("quiet")) == ""


@pytest.mark.soak(
    instead="tests/faults/test_clocks.py::test_a_story_goes_on_once_a_clock_that_was_ahead_is_put_right"
)
@pytest.mark.parametrize("story", STORIES)
def test_every_story_goes_on_whichever_step_the_clock_jumps_at(story: str) -> None:
    failures = []
    for step in range(len(STORIES[story].steps)):
        for jump in JUMPS:
            for clocks in ({step: jump}, {step: jump, step + 1: 0}):
                found = playing.play(story, clocks=clocks).differences(playing.quiet(story))
                failures += [f"{story} {clocks}\n{found}"] if found else []
    assert failures == []
