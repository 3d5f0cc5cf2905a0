"""Jobs: cards that a program asked for."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.board import BoardEvent, CardEvent
from ledger.ids import BoardId
from ledger.states import Priority


@dataclass(frozen=True, slots=True)
class JobRequested(BoardEvent):
    """A program asked for a card, for the account `by`; `key` is the request's own, `via` its token's name.
    The agent of a run may ask for one as well: `by` asked for the run then, and `via` is its name.

    `parents` are issues as owner/repository#number that come first. `budget_usd` is added to its first run's.
    `agent` is a choice as in AgentPinned, `minutes`, `turns`, `effort` and `priority` are those of the card,
    `workflow` is that of its runs; empty, 0 and None where the program leaves them to the policy.
    """

    key: str
    repository: str
    title: str
    column: str
    parents: tuple[str, ...]
    skills: tuple[str, ...]
    by: str
    user_id: int
    via: str
    budget_usd: float = 0.0
    workflow: str = ""
    agent: str = ""
    minutes: int = 0
    turns: int = 0
    priority: Priority | None = None
    effort: str = ""


@dataclass(frozen=True, slots=True)
class JobMade(CardEvent, zoom=Zoom.CONVERSATION, line="{by} asked for this card through a program"):
    """The card that was asked for is on the board; the other fields are as in JobRequested."""

    board_id: BoardId
    key: str
    repository: str
    number: int
    column: str
    skills: tuple[str, ...]
    by: str
