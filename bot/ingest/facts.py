"""Facts of a delivery, no longer in GitHub's shape; not verified yet. And what they resolve to."""

from dataclasses import dataclass, field
from datetime import datetime

from bot.bootstrap import Services
from ledger.ids import BoardId, CardId
from ledger.log.event_store import EventFactory
from ledger.queue.change_reports import About
from ledger.queue.refresh_requests import Move
from ledger.rows.cards import CardRow


@dataclass(frozen=True, slots=True)
class CardChange:
    """A change of a card by a person, as in change reports; `at` is None if unknown."""

    by: str
    about: About
    value: str
    at: datetime | None


@dataclass(slots=True)
class Resolution:
    """The result of a delivery: refresh requests, reported changes, moves, event factories, in order."""

    refreshes: list[tuple[CardId, BoardId]] = field(default_factory=list)
    changes: list[tuple[CardId, CardChange]] = field(default_factory=list)
    moves: dict[CardId, Move] = field(default_factory=dict)
    makers: list[EventFactory] = field(default_factory=list)

    def request_refresh(self, card: CardRow, change: CardChange | None = None) -> None:
        self.refreshes.append((card.card_id, card.board_id))
        if change is not None:
            self.changes.append((card.card_id, change))

    @property
    def has_news(self) -> bool:
        return bool(self.refreshes or self.changes or self.makers)

    @property
    def cards_to_refresh(self) -> tuple[CardId, ...]:
        return tuple(card_id for card_id, _ in self.refreshes)


@dataclass(frozen=True, slots=True)
class Fact:
    """The base of all facts that an event module can read from a delivery."""

    def resolve(self, services: Services, resolution: Resolution) -> None:  # noqa: ARG002 -- overridden
        """Add the results of the fact. Facts that several events share have their rules in `resolve.py`."""
        raise TypeError(f"no rule for the fact {type(self).__name__}")


@dataclass(frozen=True, slots=True)
class CardTouched(Fact):
    """Something about the card changed: sync it. `content_id` may be empty.

    `change` is None if no person matters for it. `moved` is a changed single-select value, as the column;
    None for other changes.
    """

    card_id: CardId
    board_id: BoardId
    content_id: str
    action: str
    change: CardChange | None = None
    moved: Move | None = None


@dataclass(frozen=True, slots=True)
class IssueFact(Fact):
    """The base of facts about one issue or pull request; `repository` is owner/name."""

    repository: str
    number: int


@dataclass(frozen=True, slots=True)
class CommentWritten(IssueFact):
    """Somebody wrote a comment. `place`: issue, pull or review.

    `review_id` is a review comment's review, 0 for other comments.
    """

    comment_id: int
    place: str
    author: str
    author_id: int
    text: str
    at: datetime
    review_id: int = 0


@dataclass(frozen=True, slots=True)
class CommentAltered(IssueFact):
    """A person's comment changed. `how`: edited or deleted; `old_text` and `new_text` are an edit's."""

    comment_id: int
    place: str
    how: str
    by: str
    by_id: int = 0
    old_text: str | None = None
    new_text: str | None = None


@dataclass(frozen=True, slots=True)
class BoxTicked(IssueFact):
    """A person ticked checkboxes in a comment of Cardinal's; `boxes` are their hidden names.

    `at` is the time of the edit, which tells a late delivery from a new tick.
    """

    comment_id: int
    place: str
    boxes: tuple[str, ...]
    by: str
    by_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class IssueEdited(IssueFact):
    """The issue's title, text, labels, state or place changed: sync it. `change`: a label was set."""

    change: CardChange | None = None


@dataclass(frozen=True, slots=True)
class LinksChanged(IssueFact):
    """The issue's blockers or parent changed: sync its card."""


@dataclass(frozen=True, slots=True)
class BlockerChanged(IssueFact):
    """The issue's state or place changed: sync the cards that wait for it."""


@dataclass(frozen=True, slots=True)
class PullRequestRead(IssueFact):
    """The pull request at the time `at`. `state`: open, closed or merged. `by` caused the delivery.

    `echo`: Cardinal did, for one of its cards; only another card of the same pull request has to hear it.
    """

    node_id: str
    state: str
    draft: bool
    head: str
    branch: str
    merged: bool
    by: str
    at: datetime
    echo: bool = False


@dataclass(frozen=True, slots=True)
class MergeLeft(IssueFact):
    """GitHub will no longer merge the pull request by itself; `reason` is GitHub's word for it, or empty."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reviewed(IssueFact):
    """A review was submitted; its threads have to be read.

    `verdict`: approved, changes_requested or commented; `head` is the reviewed commit.
    """

    review_id: int
    author: str
    author_id: int
    verdict: str
    body: str
    head: str = ""
    submitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewWanted(IssueFact):
    """A review was requested, perhaps again, from `reviewer`, a person or a team."""

    reviewer: str
    by: str


@dataclass(frozen=True, slots=True)
class ReviewTakenBack(IssueFact):
    """A review's verdict was dismissed."""

    review_id: int


@dataclass(frozen=True, slots=True)
class ChecksMoved(Fact):
    """A check of the commit `sha` has finished: read all of them."""

    repository: str
    sha: str


@dataclass(frozen=True, slots=True)
class ButtonPressed(Fact):
    """A person pressed a button of a check run of the App `app_id`.

    `mark` is the check run's `external_id`, `button` the button's identifier.
    """

    repository: str
    check_id: int
    app_id: int
    mark: str
    button: str
    by: str
    by_id: int


@dataclass(frozen=True, slots=True)
class Pushed(Fact):
    """A ref of `repository` moved from `before` to `after`; forty zeros stand for no ref.

    `touches_policy`: the push may have changed `.github/cardinal.yml` on a branch.
    """

    repository: str
    ref: str
    before: str
    after: str
    default_branch: str
    touches_policy: bool

    @property
    def on_default(self) -> bool:
        return self.ref == f"refs/heads/{self.default_branch}"


@dataclass(frozen=True, slots=True)
class AccessChanged(Fact):
    """Cardinal's access may have changed: read it."""


@dataclass(frozen=True, slots=True)
class Renamed(Fact):
    """A repository has another name, or another owner; both are owner/name."""

    before: str
    after: str
