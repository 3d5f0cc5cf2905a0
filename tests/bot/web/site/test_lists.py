"""Lists of cards: how old a card looks."""

from datetime import timedelta

import pytest

from bot.web.site.lists import age_of
from ledger.states import CardState


@pytest.mark.parametrize(
    ("state", "hours", "age"),
    [
        (CardState.NEEDS_INPUT, 23, ""),
        (CardState.NEEDS_INPUT, 24, "late"),
        (CardState.APPROVED, 72, "overdue"),
        (CardState.WORKING, 0.9, ""),
        (CardState.WORKING, 1, "late"),
        (CardState.QUEUED, 6, "overdue"),
        (CardState.DONE, 9_999, ""),
        (CardState.DISCUSSING, 9_999, ""),
        (CardState.DRAFT, 9_999, ""),
    ],
)
def test_what_waits_for_people_gets_days_and_what_agents_have_hours(
    state: CardState, hours: float, age: str
) -> None:
    assert age_of(state, timedelta(hours=hours)) == age
