"""Which of the people who changed a card, as deliveries tell, is the one who moved it."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.github.api.project_models import StatusChange
from bot.sync.movers import on_timeline, sender
from ledger.queue.change_reports import About, ChangeReport

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def moved(by: str, column: str = "", second: int = 0, about: About = About.COLUMN) -> ChangeReport:
    return ChangeReport(by, about, column, START + timedelta(seconds=second))


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
        ([moved("bob", "Review"), moved("eve", "", 1)], ""),
        ([moved("bob", "Review"), moved("bob", "", 1)], ""),  # that move is not told yet, and may be eve's
        ([moved("bob", "Done"), moved("eve", "", 1)], "bob"),
        ([moved("eve", about=About.ARCHIVED)], "eve"),
    ],
)
def test_the_mover_is_whose_change_is_seen_and_nobody_where_that_is_not_sure(
    told: list[ChangeReport], mover: str
) -> None:
    assert sender(told, "Done") == mover


@pytest.mark.parametrize(
    ("column", "at", "since", "mover"),
    [
        ("Done", START, None, "bob"),
        ("Review", START, None, ""),  # the card went on, and the timeline is late
        (None, START, None, ""),
        ("Done", START, START + timedelta(milliseconds=900), "bob"),  # GitHub's times have whole seconds
        ("Done", START, START + timedelta(seconds=1), ""),  # its earlier move to the same column
    ],
)
def test_the_timeline_names_the_mover_of_the_move_that_the_card_shows(
    column: str | None, at: datetime, since: datetime | None, mover: str
) -> None:
    assert on_timeline(StatusChange("Done", "bob", at), column, since) == mover


def test_a_timeline_without_moves_names_nobody() -> None:
    assert on_timeline(None, None, None) == ""
