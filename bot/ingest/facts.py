"""What a delivery says, as facts that no longer have GitHub's shape; they are not believed yet."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, CardId
from ledger.queue.change_reports import About
from ledger.queue.refresh_requests import Move


@dataclass(frozen=True, slots=True)
class Fact:
    """The base of everything that an intake module can read out of a delivery."""


@dataclass(frozen=True, slots=True)
class CardChange:
    """What of the card `by` changed, as in change reports; `at` is None where nothing says when."""

    by: str
    about: About
    value: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class CardTouched(Fact):
    """A doorbell: something about the card changed, so look at it. `content_id` may be empty.

    `change` is None where it can be nothing that Cardinal asks a person for.
    `moved` is what the delivery tells of a choice that somebody changed, its column for one; None of others.
    """

    card_id: CardId
    board_id: BoardId
    content_id: str
    action: str
    change: CardChange | None = None
    moved: Move | None = None


@dataclass(frozen=True, slots=True)
class IssueFact(Fact):
    """The base of what is about one issue or pull request; `repository` is owner/name."""

    repository: str
    number: int


@dataclass(frozen=True, slots=True)
class CommentWritten(IssueFact):
    """Somebody wrote a comment. `place`: issue, pull or review.

    `reply_to` is the review comment that it answers and `review_id` the review that it came with; both are 0
    outside of reviews. A review comment with `reply_to` 0 opens a thread, which `Reviewed` brings as well.
    """

    comment_id: int
    place: str
    author: str
    author_id: int
    text: str
    at: datetime
    reply_to: int = 0
    review_id: int = 0


@dataclass(frozen=True, slots=True)
class CommentAltered(IssueFact):
    """A comment of somebody else's was edited or deleted. `how`: edited or deleted."""

    comment_id: int
    place: str
    how: str
    by: str


@dataclass(frozen=True, slots=True)
class BoxTicked(IssueFact):
    """Somebody ticked checkboxes in a comment of Cardinal's own; `boxes` are their hidden names.

    `at` is when the edit was made, so that a late delivery can be told from a new tick.
    """

    comment_id: int
    place: str
    boxes: tuple[str, ...]
    by: str
    by_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class IssueEdited(IssueFact):
    """The issue's title, text, labels or place changed: read it again. `change`: a label was set."""

    change: CardChange | None = None


@dataclass(frozen=True, slots=True)
class LinksChanged(IssueFact):
    """What the issue is blocked by, or is a part of, changed: read its card again."""


@dataclass(frozen=True, slots=True)
class BlockerChanged(IssueFact):
    """Whoever waits for the issue has to look again what became of it."""


@dataclass(frozen=True, slots=True)
class IssueShut(IssueFact):
    """The issue was closed. `reason`: completed, not_planned or duplicate."""

    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class IssueOpenedAgain(IssueFact):
    """The issue was opened again."""

    by: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PullRequestRead(IssueFact):
    """The pull request as it was at `at`; an older one than the one known is to be dropped.

    `state`: open, closed or merged. `by` did what the delivery is about.
    """

    node_id: str
    state: str
    draft: bool
    head: str
    branch: str
    merged: bool
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class MergeLeft(IssueFact):
    """GitHub merges the pull request no more by itself; `reason` is GitHub's word for why, or empty."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reviewed(IssueFact):
    """A review was submitted; its threads have to be read.

    `verdict`: approved, changes_requested or commented; `head` is the commit that was looked at.
    """

    review_id: int
    author: str
    author_id: int
    verdict: str
    body: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class ReviewWanted(IssueFact):
    """Somebody asked `reviewer`, a person or a team, to review the pull request, or to do it again."""

    reviewer: str
    by: str


@dataclass(frozen=True, slots=True)
class ReviewTakenBack(IssueFact):
    """A review's verdict was dismissed."""

    review_id: int


@dataclass(frozen=True, slots=True)
class ChecksMoved(Fact):
    """A check of the commit `sha` has finished: look how all of them stand."""

    repository: str
    sha: str


@dataclass(frozen=True, slots=True)
class ButtonPressed(Fact):
    """Somebody pressed a button of a check run that the App `app_id` made.

    `mark` is what that App wrote on the check run (its `external_id`), `button` the button's identifier.
    """

    repository: str
    check_id: int
    app_id: int
    mark: str
    button: str
    by: str
    by_id: int


@dataclass(frozen=True, slots=True)
class GroupMoved(Fact):
    """The merge queue made a commit `sha` of pull request `number`, or needs it no more.

    `reason` is GitHub's word for why it is gone; empty while its checks are wanted.
    """

    repository: str
    number: int
    sha: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pushed(Fact):
    """A ref of `repository` moved from `before` to `after`; forty zeros stand for a ref that is not there.

    `touches_policy` is true when the push may have changed `.github/cardinal.yml` on the default branch.
    """

    repository: str
    ref: str
    before: str
    after: str
    default_branch: str
    touches_policy: bool


@dataclass(frozen=True, slots=True)
class AccessChanged(Fact):
    """What Cardinal may reach may have changed: ask."""


@dataclass(frozen=True, slots=True)
class Renamed(Fact):
    """A repository has another name, or another owner; both are owner/name."""

    before: str
    after: str
