"""A part of a snapshot that was not read for the event is no empty part: a rule that uses it fails."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from rules.answers import all_rules
from rules.errors import UnreadPartError
from rules.snapshot import Snapshot, Unread
from tests.rules.scene import NOTHING, card

USES: dict[str, Callable[[Any], object]] = {
    "asked whether it is there": bool,
    "counted": len,
    "gone through": list,
    "compared": lambda it: it >= 3,
    "read": lambda it: it.cause,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_part_that_was_not_read_cannot_be_used(use: Callable[[Any], object]) -> None:
    with pytest.raises(UnreadPartError, match="`halt` of the snapshot is not read for this event"):
        use(card().halt)


def test_each_part_that_is_not_always_read_is_read_for_some_event() -> None:
    parts = {field.name for field in fields(Snapshot) if isinstance(field.default, Unread)}
    assert parts == {part for rule in all_rules().values() for part in rule.reads} == set(NOTHING)
