"""Times of schedules: each comes once, at the hour that people read on their clocks, and none twice."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.errors import PolicyError
from rules.policy.model import DEFAULT_TEXT, parse
from rules.policy.schedule import CardSchedule, coming, next_after

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
TIMINGS = ("0 3 * * 1-5", "*/30 * * * *", "30 2 * * *", "0 0 1 * *")
moments = st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"])


def by_cron(cron: str, zone: str = "Europe/Berlin") -> CardSchedule:
    return CardSchedule(cron=cron, time_zone=zone, title="Look")


def times(schedule: CardSchedule, start: datetime, most: int = 3) -> list[str]:
    return [f"{at:%d %H:%M}" for at in coming(schedule, start, most)]


def test_a_time_that_is_left_out_in_spring_comes_at_once_after_and_then_at_its_hour() -> None:
    assert times(by_cron("30 2 * * *"), NOW) == ["29 01:00", "30 00:30", "31 00:30"]
    assert times(by_cron("0 9 * * *"), NOW) == ["29 07:00", "30 07:00", "31 07:00"]


def test_a_time_that_clocks_show_twice_in_autumn_comes_once() -> None:
    autumn = datetime(2026, 10, 24, 12, tzinfo=UTC)
    assert times(by_cron("30 2 * * *"), autumn) == ["25 00:30", "26 01:30", "27 01:30"]


def test_a_span_keeps_its_hour_however_many_times_were_missed() -> None:
    schedule = CardSchedule(every="12h", title="Look")
    late = NOW + timedelta(days=3, hours=1)
    assert next_after(schedule, NOW, late) == NOW + timedelta(days=3, hours=12)
    assert next_after(schedule, NOW, NOW) == NOW + timedelta(hours=12)


@given(moments, ZONES, st.sampled_from(TIMINGS))
def test_the_next_time_is_later_and_the_same_from_whenever_before_it_is_asked(
    start: datetime, zone: str, cron: str
) -> None:
    schedule = by_cron(cron, zone)
    due = next_after(schedule, start, start)
    assert due > start
    between = start + (due - start) / 2
    assert next_after(schedule, start, between.replace(microsecond=0)) == due


def test_the_example_of_the_page_is_valid() -> None:
    page = (Path(__file__).parents[3] / "docs/boards.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(schedule:\n.*?)```", page, re.DOTALL)
    policy = parse(DEFAULT_TEXT + indent(example, "  "), home="acme/board")
    assert [*policy.board.schedule] == ["dependencies", "look-around", "red", "advisory"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("cron: 61 * * * *", "schedule.nightly.cron: is not a valid time"),
        ("cron: 0 0 30 2 *", "schedule.nightly.cron: is not a valid time: Bad day-of-month"),
        ("cron: '* * * * * *'", "schedule.nightly.cron: a time needs five fields"),
        ("every: 90s", "schedule.nightly.every: `90s` is not a time span"),
        ("every: 1d, cron: 0 3 * * *", "schedule.nightly: needs a time: use either cron, every or on"),
        ("on: {}", "schedule.nightly.on: needs one event: use either workflow_failed or labeled"),
        ("every: 1d, time_zone: Europe/Berlinn", "time_zone: `Europe/Berlinn` is not a time zone"),
        ("every: 1d, column: Nowhere", "schedule.nightly.column: unknown column `Nowhere`"),
        ("every: 1d, repository: evil/shop", "schedule.nightly.repository: must be owned by acme"),
    ],
)
def test_a_mistake_is_named_with_its_line(lines: str, problem: str) -> None:
    text = DEFAULT_TEXT + f"  home: acme/board\n  schedule:\n    nightly: {{title: Look, {lines}}}\n"
    with pytest.raises(PolicyError) as caught:
        parse(text, home="acme/board")
    (sentence,) = caught.value.problems
    assert problem in sentence
    assert sentence.startswith("line 1")
