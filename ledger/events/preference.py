"""What people chose for one card: its priority, and the limits of its runs."""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.states import Priority


@dataclass(frozen=True, slots=True)
class PriorityChosen(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A person chose the card's priority; None: they took their choice back."""

    priority: Priority | None
    by: str

    def describe(self) -> str:
        return (
            f"{self.by} chose priority {self.priority}" if self.priority else f"{self.by} chose no priority"
        )


@dataclass(frozen=True, slots=True)
class PrioritySeen(CardEvent, zoom=Zoom.ACTIVITY, line="the board's field Priority says {value!r}"):
    """The board's own field `Priority` has another value for the card; empty for none."""

    value: str


@dataclass(frozen=True, slots=True)
class LimitsChosen(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A person chose the limits of the card's next runs, in place of those chosen before: minutes of work,
    turns of the agent, dollars, the effort of its model. 0 and an empty text stand for the column's own.
    """

    minutes: int
    turns: int
    usd: float
    by: str
    effort: str = ""

    def describe(self) -> str:
        of = (
            f"{self.minutes} min" if self.minutes else "",
            f"{self.turns} turns" if self.turns else "",
            f"${self.usd:.2f}" if self.usd else "",
            f"effort {self.effort}" if self.effort else "",
        )
        chosen = ", ".join(filter(None, of))
        return f"{self.by} chose limits of the next runs: {chosen or 'those of the column'}"


@dataclass(frozen=True, slots=True)
class RunReordered(
    RunEvent, RuleEvent, zoom=Zoom.ACTIVITY, only_shows=True, line="its priority in the queue is {priority}"
):
    """The card of a live run has another priority, by the board's policy."""

    priority: Priority
