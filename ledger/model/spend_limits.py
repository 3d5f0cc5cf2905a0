"""The limits in dollars that several runs share: one vocabulary for sums, reservations and sentences."""

from enum import StrEnum


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
