"""Answers about cards of the board, as frozen data."""

from dataclasses import dataclass
from datetime import datetime

from ledger.events.related import Blocker
from ledger.ids import BoardId, CardId
from ledger.states import PullCard


@dataclass(frozen=True, slots=True)
class StatusChange:
    """The newest move of a card on its issue's timeline; `by` is empty for a deleted account."""

    column: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CardReading:
    """One card as GitHub shows it. `kind`: Issue, DraftIssue, PullRequest, or Redacted (not visible).

    `repository`, `number`, `default_branch` are None for a draft issue; the branch also in an empty
    repository. `state`: open, closed, merged; `state_reason`: completed, not_planned, …; both may be empty,
    as `option_id`, the column's. `hidden_blockers` are open and out of the App's sight; `parent` is
    owner/repository#number, or empty; `public`: which of their repositories everybody may read.
    """

    card_id: CardId
    board_id: BoardId
    owner: str
    board_number: int
    content_id: str
    kind: str
    repository: str | None
    default_branch: str | None
    number: int | None
    title: str
    body: str
    author: str
    state: str
    state_reason: str
    labels: tuple[str, ...]
    column: str | None
    option_id: str
    archived: bool
    updated_at: datetime
    blocked_by: tuple[Blocker, ...] = ()
    hidden_blockers: int = 0
    parent: str = ""
    public: tuple[str, ...] = ()
    status: tuple[tuple[str, str], ...] = ()  # the board's columns: option id and name
    repo_field: str = ""  # the value of the project's text field Repo
    priority_field: str = ""  # the option in a single-select field Priority, which people may add
    assignees: tuple[str, ...] = ()  # in order
    expanded: bool = False  # GitHub shows a description that a model wrote over `body`
    last_move: StatusChange | None = None  # None for a draft, and where the timeline has none
    pull_card: PullCard = PullCard.NONE


@dataclass(frozen=True, slots=True)
class CardStub:
    """A card in a sweep of the whole board. `closed`: its issue is; `issue`: owner/name#number, or empty."""

    card_id: CardId
    column: str | None
    updated_at: datetime
    archived: bool
    closed: bool = False
    issue: str = ""


@dataclass(frozen=True, slots=True)
class ConvertedDraft:
    """The issue that a draft became."""

    content_id: str
    repository: str
    number: int
