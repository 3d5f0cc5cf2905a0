"""A whole day at ten times the load of a team leaves nothing undone."""

import pytest

from tests.bench import day


@pytest.mark.timeout(3600)
@pytest.mark.soak(
    instead="tests/bot/flows/board/test_many_boards.py::test_cards_of_three_boards_of_two_owners_are_worked_on"
)
def test_two_thousand_runs_on_fifty_boards_leave_nothing_undone() -> None:
    played = day.play(day.WHOLE)
    print({figure.name: figure.to_json() for figure in day.figures(day.WHOLE, played)})
    assert played.undone == {}
