"""Limits in dollars that several runs share, words for a cost, and single settings of a run as JSON."""

import json
from enum import StrEnum

AS_REPORTED = " as the agent reports"  # of a cost that nothing else counted


def value_of(settings: str, name: str) -> object:
    """Return the value of that name; None where the text has none."""
    try:
        policy = json.loads(settings)
    except (ValueError, RecursionError):
        return None
    return policy.get(name) if isinstance(policy, dict) else None


class Limit(StrEnum):
    """A limit, as the policy calls it. COLUMN, PERSON and DAY (the board's) count one day of UTC."""

    CARD = "usd_per_card"
    COLUMN = "usd_per_day of the column"
    PERSON = "usd_per_person"
    DAY = "usd_per_day"
    BOARD = "usd_total"

    @property
    def setting(self) -> str:
        """Where the policy file has it, as Markdown."""
        return "the column's `usd_per_day`" if self is Limit.COLUMN else f"`limits: {{{self}: …}}`"
