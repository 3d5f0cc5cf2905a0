"""Events of a card's pull request: opened, pushed to, reviewed, merged, closed."""

from dataclasses import dataclass
from datetime import datetime

from ledger.events.board import CardEvent


@dataclass(frozen=True, slots=True)
class Thread:
    """One review thread: the comment that opened it, its place and text. `line` is 0 when unknown."""

    thread_id: str  # database id of the first comment, as text
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class PullOpened(CardEvent):
    """Cardinal opened the pull request."""

    repository: str
    number: int
    node_id: str
    branch: str
    head: str
    draft: bool


@dataclass(frozen=True, slots=True)
class PullChanged(CardEvent):
    """The pull request was seen in another shape. `state`: open, closed or merged."""

    number: int
    state: str
    draft: bool
    head: str


@dataclass(frozen=True, slots=True)
class ReviewSubmitted(CardEvent):
    """Somebody submitted a review. `verdict`: approved, changes_requested or commented; threads are one
    batch. `head` is the commit that was looked at. `submitted_at` is by GitHub's clock, before its delivery.
    """

    review_id: int
    author: str
    trusted: bool
    verdict: str
    body: str
    threads: tuple[Thread, ...]
    head: str = ""
    submitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewDismissed(CardEvent):
    """A review's verdict was taken back."""

    review_id: int


@dataclass(frozen=True, slots=True)
class ReviewRequested(CardEvent):
    """Somebody asked `reviewer` to look at the pull request, for the first time or again."""

    number: int
    reviewer: str
    by: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class BranchDeleted(CardEvent):
    """The card's branch is gone from GitHub."""

    branch: str


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A check that is red; `log` is the end of its output, redacted. `on_base`: red on the base as well."""

    name: str
    url: str
    log: str
    on_base: bool


@dataclass(frozen=True, slots=True)
class ChecksAwaited(CardEvent):
    """Checks that count on the pull request's head commit are not all finished."""

    head: str
    pending: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChecksSettled(CardEvent):
    """The checks that count on the head commit are finished, but for those `pending` that took too long.

    `failures` are the red ones; none of them means that it is green, or that nothing can be said.
    """

    head: str
    failures: tuple[CheckFailure, ...]
    pending: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupFormed(CardEvent):
    """The merge queue asks for the checks of the pull request on a commit of its own, `head`."""

    number: int
    head: str


@dataclass(frozen=True, slots=True)
class GroupGone(CardEvent):
    """The merge queue needs the checks on its commit `head` no more.

    `reason`: merged, dequeued, or invalidated (another group takes its place).
    """

    number: int
    head: str
    reason: str


@dataclass(frozen=True, slots=True)
class MergeAwaited(CardEvent):
    """GitHub merges the pull request by itself once it can, or does so no more.

    `how`: queue, auto (as soon as its checks pass) or empty: no more, and `because` says why. With a `how` it
    names the awaited condition, if that is no check. `head` is the commit that is to be merged.
    """

    number: int
    how: str
    head: str
    because: str


@dataclass(frozen=True, slots=True)
class MergeOutdated(CardEvent):
    """The pull request was not merged at `head`: its checks did not run on `base`, where the base stands."""

    number: int
    head: str
    base: str
