"""What the agent of a run says about other cards: that one is wanted, or that one belongs to its own."""

from dataclasses import dataclass

from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class CardProposed(RunEvent):
    """The agent wants a new card for work that is not its own. `proposal` counts in the run from 1."""

    proposal: int
    title: str
    body: str
    reason: str


@dataclass(frozen=True, slots=True)
class CardLinked(RunEvent):
    """The run's card stands in a relation to `target` (owner/repository#number). `relation`: blocks,
    blocked_by or relates.
    """

    target: str
    relation: str
    reason: str
