"""Events of a card's pull request: opened, pushed to, reviewed, merged, closed."""

from dataclasses import dataclass
from datetime import datetime

from ledger.event import Zoom
from ledger.events.board import CardEvent


@dataclass(frozen=True, slots=True)
class Thread:
    """One review thread: the comment that opened it, its place and text. `line` is 0 when unknown."""

    thread_id: str  # database id of the first comment, as text
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class PullOpened(CardEvent, zoom=Zoom.CONVERSATION, line="opened pull request #{number}", is_audited=True):
    """Cardinal opened the pull request."""

    repository: str
    number: int
    node_id: str
    branch: str
    head: str
    draft: bool


@dataclass(frozen=True, slots=True)
class PullChanged(CardEvent, zoom=Zoom.ACTIVITY, is_audited=True, changes_lane=True):
    """The pull request was seen in another shape. `state`: open, closed or merged."""

    number: int
    state: str
    draft: bool
    head: str

    def describe(self) -> str:
        return f"pull request #{self.number} is {self.state}{', a draft' if self.draft else ''}"


@dataclass(frozen=True, slots=True)
class ReviewSubmitted(CardEvent, zoom=Zoom.CONVERSATION, has_words=True, is_audited=True):
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

    def describe(self) -> str:
        return f"{self.author} {self.verdict.replace('_', ' ')}: {self.body}".removesuffix(": ")


@dataclass(frozen=True, slots=True)
class ReviewDismissed(
    CardEvent, zoom=Zoom.ACTIVITY, line="review {review_id} was dismissed", is_audited=True
):
    """A review's verdict was taken back."""

    review_id: int


@dataclass(frozen=True, slots=True)
class ReviewRequested(
    CardEvent, zoom=Zoom.ACTIVITY, line="{by} asked {reviewer} for a review", is_audited=True
):
    """Somebody asked `reviewer` to look at the pull request, for the first time or again."""

    number: int
    reviewer: str
    by: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class BranchDeleted(CardEvent, zoom=Zoom.ACTIVITY, line="branch {branch} was deleted", is_audited=True):
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

    def describe(self) -> str:
        return f"checks of {self.head[:12]} wait for {', '.join(self.pending)}"


@dataclass(frozen=True, slots=True)
class ChecksSettled(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """The checks that count on the head commit are finished, but for those `pending` that took too long.

    `failures` are the red ones; none of them means that it is green, or that nothing can be said.
    """

    head: str
    failures: tuple[CheckFailure, ...]
    pending: tuple[str, ...]

    def describe(self) -> str:
        red = ", ".join(failure.name for failure in self.failures)
        head = self.head[:12]
        return f"checks failed on {head}: {red}" if red else f"no failing checks on {head}"


@dataclass(frozen=True, slots=True)
class GroupFormed(CardEvent, line="the merge queue wants checks on {head:.12}"):
    """The merge queue asks for the checks of the pull request on a commit of its own, `head`."""

    number: int
    head: str


@dataclass(frozen=True, slots=True)
class GroupGone(CardEvent, line="the merge queue's {head:.12} is gone: {reason}"):
    """The merge queue needs the checks on its commit `head` no more.

    `reason`: merged, dequeued, or invalidated (another group takes its place).
    """

    number: int
    head: str
    reason: str


@dataclass(frozen=True, slots=True)
class MergeAwaited(CardEvent, zoom=Zoom.ACTIVITY, is_audited=True):
    """GitHub merges the pull request by itself once it can, or does so no more.

    `how`: queue, auto (as soon as its checks pass) or empty: no more, and `because` says why. With a `how` it
    names the awaited condition, if that is no check. `head` is the commit that is to be merged.
    """

    number: int
    how: str
    head: str
    because: str

    def describe(self) -> str:
        if not self.how:
            return f"GitHub merges #{self.number} no more: {self.because}"
        way = "through its merge queue" if self.how == "queue" else "once its checks pass"
        return f"GitHub merges #{self.number} {way}"


@dataclass(frozen=True, slots=True)
class MergeOutdated(CardEvent, zoom=Zoom.ACTIVITY, line="#{number} is not merged: not checked on {base:.12}"):
    """The pull request was not merged at `head`: its checks did not run on `base`, where the base stands."""

    number: int
    head: str
    base: str
