"""What becomes of a day's limit at the pace of the day so far."""

from datetime import UTC, datetime

import pytest

from rules.runs.forecast import Outlook, forecast

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spent", "hour", "outlook", "reached"),
    [
        (0.0, 12, Outlook.BELOW, None),
        (24.9, 12, Outlook.BELOW, None),
        (25.0, 12, Outlook.BELOW, None),
        (30.0, 12, Outlook.AHEAD, 20),
        (40.0, 12, Outlook.AHEAD, 15),
        (50.0, 12, Outlook.REACHED, None),
        (60.0, 0, Outlook.REACHED, None),
        (40.0, 0, Outlook.UNKNOWN, None),
        (10.0, 1, Outlook.AHEAD, 5),
    ],
)
def test_a_pace_says_what_becomes_of_the_limit(
    spent: float, hour: int, outlook: Outlook, reached: int | None
) -> None:
    said = forecast("", spent, 50.0, NOON.replace(hour=hour))
    assert said.outlook is outlook
    assert said.reached_at == (None if reached is None else NOON.replace(hour=reached))
    known = outlook in (Outlook.BELOW, Outlook.AHEAD) and spent
    assert said.projected_usd == (pytest.approx(spent * 24 / hour) if known else None)


def test_what_is_reserved_is_no_longer_free() -> None:
    it = forecast("", 25.0, 50.0, NOON, 25.0)
    assert (it.outlook, it.reserved_usd, it.spent_usd) == (Outlook.RESERVED, 25.0, 25.0)
    assert forecast("", 25.0, 50.0, NOON, 24.0).outlook is Outlook.BELOW
    assert forecast("", 30.0, 50.0, NOON, 10.0).reached_at == NOON.replace(hour=20)
    assert forecast("", 0.0, 50.0, NOON, 24.0).outlook is Outlook.BELOW
