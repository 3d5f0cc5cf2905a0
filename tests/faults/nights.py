"""A week's nights: each soak plays a seventh of what takes hours, so that a week plays all of it."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from tests.faults.stories import STORIES

Each = TypeVar("Each")

NIGHTS = 7
CHOSEN = "CARDINAL_TEST_NIGHTS"  # by their numbers, Monday's is 0; else today's


def chosen() -> tuple[int, ...]:
    """Return the nights to play. Raises ValueError."""
    said = os.environ.get(CHOSEN) or str(datetime.now(UTC).weekday())
    nights = tuple(int(number) for number in said.split(","))
    if not all(0 <= night < NIGHTS for night in nights):
        raise ValueError(f"{CHOSEN}={said}: nights have the numbers 0 to {NIGHTS - 1}")
    return nights


def of_night(every: Sequence[Each], night: int) -> Sequence[Each]:
    """Return the night's seventh, spread over the whole."""
    return every[night::NIGHTS]


each_story_tonight = pytest.mark.parametrize(
    ("story", "night"), [(story, night) for story in STORIES for night in chosen()]
)
