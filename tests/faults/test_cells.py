"""Whatever goes wrong at whichever point of a story: it ends as if nothing had, and everything was said once.

For every change one cell of each class is played, several faults in one play; a week of soaks plays all
cells, each alone where a play fails, and a second fault in the recovery from those that reached GitHub.
"""

from collections.abc import Iterable, Sequence

import pytest

from tests.faults import cells, playing, record
from tests.faults.cells import Cell
from tests.faults.nights import NIGHTS, each_story_tonight, of_night
from tests.faults.points import Fault, Kind
from tests.faults.stories import STORIES

SHARES = 6
# Agents work in the first of them, and the others reach no site of their own: they are for the soak alone.
IN_SOAK = ("stages", "scratch", "choice", "hosts", "epic", "boards")
SELDOM = ("work", "lane", "findings", *IN_SOAK)  # whose own classes are for the soak: they take long
pytestmark = pytest.mark.timeout(1_800)


def assert_plays(groups: Sequence[tuple[Cell, ...]]) -> None:
    """Assert that each group ends as the quiet play, and that each of its faults struck, there or alone."""
    failures = []
    for group in groups:
        failed, struck = cells.play_together(group)
        alone = [cell for cell in group if len(group) > 1 and f"{cell.point}:{cell.fault}" not in struck]
        for cell in alone:  # another fault of the group went round its point
            failures += cells.play_alone(cell)
        failures += failed
    assert [str(failure) for failure in failures] == []


@pytest.mark.parametrize("share", range(SHARES))
def test_one_cell_of_each_class_ends_as_the_quiet_story(share: int) -> None:
    traces = [(name, points) for name, points in record.first_points().items() if name not in SELDOM]
    groups = cells.together(cells.one_of_each_class(traces))
    most = -(-len(groups) // SHARES)  # neighbours are of one story, whose quiet play they share
    assert_plays(groups[share * most : (share + 1) * most])


def test_each_cell_is_in_one_group_and_no_group_has_a_point_twice() -> None:
    of_each = {name: [*cells.cells_of(name, points)] for name, points in record.first_points().items()}
    for of_story in (it[:length] for it in of_each.values() for length in (1, 6, 40, len(it))):
        groups = cells.together(of_story)
        assert sorted(map(str, (cell for group in groups for cell in group))) == sorted(map(str, of_story))
        assert all(len({cell.point for cell in group}) == len(group) for group in groups)


@pytest.mark.parametrize("point", ["commit:-@a#1", "commit:-@a#2"], ids=["there", "gone"])
def test_a_point_that_does_not_come_is_no_cell_only_where_a_quiet_play_lacks_it_too(
    monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    for name in ("play", "quiet"):
        monkeypatch.setattr(playing, name, lambda *_: playing.Played(("commit:-@a#1",), (), None))
    failures = cells.play_alone(Cell("quiet", point, Fault.KILL_AFTER))
    assert [failure.found for failure in failures] == ["it never struck: its point did not come"] * (
        point == "commit:-@a#1"
    )
    assert cells.play_twice(Cell("quiet", point, Fault.KILL_AFTER), set()) == failures


def assert_recorded(names: Iterable[str]) -> None:
    """Assert that these stories reach the sites of the record, and no others."""
    points = record.points_of((name, playing.quiet(name).trace) for name in names)
    kept = {name: record.read()["points"][name] for name in points}
    # A run's events are written together as they come, which the wall's clock decides.
    here, there = (
        {(story, site) for story in each for site in each[story] if "@runner/run/log." not in site}
        for each in (points, kept)
    )
    assert sorted(here ^ there) == [], "run scripts/faults --record, then scripts/docs"


def test_the_points_are_those_of_the_record() -> None:
    assert {*record.read()["points"]} == {*STORIES}
    assert_recorded(name for name in STORIES if name not in IN_SOAK)


@pytest.mark.soak(instead="tests/faults/test_cells.py::test_the_points_are_those_of_the_record")
def test_the_points_of_stories_for_the_soak_are_those_of_the_record() -> None:
    assert_recorded(IN_SOAK)


def test_a_week_plays_everything_once() -> None:
    every = range(100)
    assert sorted(item for night in range(NIGHTS) for item in of_night(every, night)) == [*every]


@pytest.mark.soak(instead="tests/faults/test_cells.py::test_one_cell_of_each_class_ends_as_the_quiet_story")
@each_story_tonight
def test_every_cell_ends_as_the_quiet_story(story: str, night: int) -> None:
    groups = cells.together(list(cells.cells_of(story, playing.quiet(story).trace)), at_once=3)
    assert_plays(of_night(groups, night))


@pytest.mark.soak(instead="tests/faults/test_cells.py::test_one_cell_of_each_class_ends_as_the_quiet_story")
@each_story_tonight
def test_a_second_fault_in_the_recovery_from_what_reached_github_changes_nothing_either(
    story: str, night: int
) -> None:
    failures, pairs = [], set[tuple[str, str]]()
    sent = [point for point in playing.quiet(story).trace if point.startswith(Kind.SEND)]
    for point in of_night(sent, night):
        failures += cells.play_twice(Cell(story, point, Fault.KILL_AFTER), pairs)
    assert [str(failure) for failure in failures] == []
