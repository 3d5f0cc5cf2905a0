"""Programs' requests for cards."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, CardId
from ledger.states import Priority


@dataclass(frozen=True, slots=True)
class JobRow:
    """A request. `number` is 0 before its issue is made; `problem` says why none will be; the last fields
    are as in JobRequested.
    """

    key: str
    board_id: BoardId
    repository: str
    column: str
    skills: tuple[str, ...]
    by: str
    user_id: int
    at: datetime
    budget_usd: float
    number: int = 0
    card_id: CardId | None = None
    problem: str = ""
    workflow: str = ""
    agent: str = ""
    minutes: int = 0
    turns: int = 0
    priority: Priority | None = None
    effort: str = ""
