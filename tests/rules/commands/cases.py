"""The table that every command's test has: what was given on which card, and what comes of it."""

from typing import Any

from ledger.event import RuleEvent
from rules.intents.outbound import Intent, React, Say
from rules.snapshot import Snapshot
from tests.rules.scene import CARD, asks, given


def handled(
    command: str, snapshot: Snapshot, argument: str = "", **changes: Any
) -> tuple[Intent | RuleEvent, ...]:
    """Return what the command asks for; it must have been acknowledged with a thumb."""
    first, *rest = asks(snapshot, given(command, argument, **changes))
    assert first == React(CARD, "issue", 77, "+1")
    return tuple(rest)


def told(command: str, snapshot: Snapshot, argument: str = "", **changes: Any) -> str:
    """Return what the command answers; it must ask for nothing else."""
    mark, said = asks(snapshot, given(command, argument, **changes))
    assert mark == React(CARD, "issue", 77, "eyes")
    assert isinstance(said, Say)
    assert (said.about, said.place) == ("command:77", "issue")
    return said.text
