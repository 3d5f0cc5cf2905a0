"""Every card as it is now."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, CardId, RunId
from ledger.states import NEED, CardState, Priority, PullCard, PullState, Reason


@dataclass(frozen=True, slots=True)
class CardRow:
    """A card as it is known; `run_id` is its newest run, `pull_number` is None before a pull request.

    `put_back` counts Cardinal's own moves since that run was queued; `approved_head` is the commit that the
    newest approval was about. `given_up`: its issue was closed as not planned by somebody who may move cards.
    `mover` put it where it stands, or took it off the board, with the role `mover_role`; both are empty where
    that is not known. `own_move`: Cardinal did, for that person. `barred` are the labels by which nothing is
    chosen, for whoever set them may not.
    `assistant_waits`: the planning assistant replied without a brief, and nobody wrote since.
    `early_start` is where the unfinished work on the branch began; empty where a run finished it.
    `priority` was chosen by `priority_by`; `priority_field` is the text in the board's field `Priority`.
    `limit_minutes`, `limit_turns`, `limit_usd` and `limit_effort` were chosen by `limits_by` for its runs; 0
    and empty for the column's own.
    `work_repository`, `asked_by`, `reviewers` and `cause` are of its newest run: where it works, who asked
    for it, whom its policy names where no person did, and why it failed where other cards may share that.
    `need` orders a column: the place of its state among those that wait for a person, behind them all others.
    `expanded`: GitHub shows a model's description over `body`. `pull_card`: it is one itself.
    """

    card_id: CardId
    board_id: BoardId
    content_id: str
    repository: str | None
    number: int | None
    title: str
    body: str
    author: str
    labels: tuple[str, ...]
    column: str | None
    rank: int
    state: CardState
    reason: Reason
    archived: bool
    run_id: RunId | None
    pull_repository: str | None
    pull_number: int | None
    verdict: str
    mover: str
    mover_role: str
    own_move: bool
    created_at: datetime
    moved_at: datetime
    state_at: datetime
    because: str = ""
    held_back: str = ""
    put_back: int = 0
    brief: str = ""
    attempts: int = 0
    pull_node_id: str = ""
    pull_state: PullState = PullState.NONE
    pull_draft: bool = False
    pull_head: str = ""
    branch: str = ""
    approved_head: str = ""
    closed: str = ""
    given_up: bool = False
    last_said: int = 0
    last_answered: int = 0
    assistant_waits: bool = False
    barred: tuple[str, ...] = ()
    early_start: str = ""
    expanded: bool = False
    assignees: tuple[str, ...] = ()
    pull_card: PullCard = PullCard.NONE
    priority: Priority | None = None
    priority_by: str = ""
    priority_field: str = ""
    limit_minutes: int = 0
    limit_turns: int = 0
    limit_usd: float = 0.0
    limits_by: str = ""
    limit_effort: str = ""
    work_repository: str = ""
    asked_by: str = ""
    reviewers: tuple[str, ...] = ()
    cause: str = ""
    need: int = len(NEED)

    @property
    def has_open_pull(self) -> bool:
        return self.pull_state is PullState.OPEN

    @property
    def choosing_labels(self) -> tuple[str, ...]:
        """The labels by which repository, mode, agent and skills may be chosen."""
        return tuple(label for label in self.labels if label not in self.barred)
