"""Which of the people who changed a card, as deliveries tell, is the one who moved it."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.movers import sender
from ledger.reports import About, Report

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def moved(by: str, column: str = "", second: int = 0, about: About = About.COLUMN) -> Report:
    return Report(by, about, column, START + timedelta(seconds=second))


@pytest.mark.parametrize(
    ("told", "mover"),
    [
        ([], ""),
        ([moved("bob", "Done")], "bob"),
        ([moved("bob", "Review")], ""),
        ([moved("bob", "Done"), moved("eve", "Done", 1)], "eve"),
        ([moved("bob", "Done"), moved("eve", "Review", 1)], ""),
        ([moved("bob", "Review"), moved("eve", "Done", 1)], "eve"),
        ([moved("bob", "Done"), moved("eve", "Done")], ""),  # in one second: either of them
        ([moved("bob", "Done"), moved("eve", "Review")], "bob"),
        ([moved("bob")], "bob"),
        ([moved("bob"), moved("eve", "", 1)], ""),  # one of them may only have sorted the column
        ([moved("bob", "Review"), moved("eve", "", 1)], "eve"),
        ([moved("bob", "Done"), moved("eve", "", 1)], "bob"),
        ([moved("eve", about=About.ARCHIVED)], "eve"),
    ],
)
def test_the_mover_is_whose_change_is_seen_and_nobody_where_that_is_not_sure(
    told: list[Report], mover: str
) -> None:
    assert sender(told, "Done") == mover
