"""What reading the board brings back: one frozen shape for each look."""

from dataclasses import dataclass
from datetime import datetime

from ledger.events.board import Column, Field
from ledger.events.related import Blocker
from ledger.ids import BoardId, CardId


@dataclass(frozen=True, slots=True)
class StatusChange:
    """The newest move of a card as its issue's timeline tells it; `by` is empty for a deleted account."""

    column: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CardLook:
    """One card as it is. `kind`: Issue, DraftIssue, PullRequest, or Redacted where the App may not see.

    `repository`, `number`, `default_branch` are None for a draft issue; the branch also in an empty one;
    `state` (open, closed, merged) and `state_reason` (completed, not_planned, …) are empty if there is none,
    as `option_id`, the column's, is without a column.
    `hidden_blockers` are open and out of the App's sight; `parent` is owner/repository#number, or empty.
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
    status: tuple[tuple[str, str], ...] = ()  # the board's columns: option id and name
    repo_field: str = ""  # what the project's text field Repo says
    personal: bool = False  # the board is a person's own
    last_move: StatusChange | None = None  # None for a draft, and where GitHub tells of none


@dataclass(frozen=True, slots=True)
class BoardLook:
    """The board's shape; `columns` are the Status field's options from left to right."""

    board_id: BoardId
    owner: str
    number: int
    title: str
    status_field_id: str
    columns: tuple[Column, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class CardStub:
    """A card as a sweep of the whole board sees it; `closed` says that its issue is, `issue` which it is:
    owner/name#number, empty for a draft.
    """

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
