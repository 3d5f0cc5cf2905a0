"""Outward intents: acts on GitHub, carried out by `bot/outbox/handlers/`. `internal.py` has inward ones."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from ledger.event import RuleEvent
from ledger.ids import CardId, QuestionId, RunId


class NoticeKind(StrEnum):
    """The subject of a notice."""

    QUESTION = "question"
    APPROVAL = "approval"
    REVIEW = "review"
    FAILURE = "failure"
    SPEND = "spend"
    STOPPED = "stopped"

    @property
    def is_loud(self) -> bool:
        """Whether someone is needed, or work has stopped: no digest holds it back."""
        return self not in (NoticeKind.REVIEW, NoticeKind.SPEND)


@dataclass(frozen=True, slots=True)
class Intent:
    """The base of all intents: the card they are about.

    One that `only_shows` what is needs nobody's right. Any other costs money, changes or takes back what
    people made or asked for, or decides for them.
    """

    card_id: CardId
    only_shows: ClassVar[bool] = False

    def __init_subclass__(cls, *, only_shows: bool = False) -> None:
        cls.only_shows = cls.only_shows or only_shows


@dataclass(frozen=True, slots=True)
class WriteRunComment(Intent, only_shows=True):
    """Write or edit the run's one sticky comment from the ledger as it then is."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class PostPlan(Intent, only_shows=True):
    """Post a plan that waits for approval, as a comment that notifies; edit it once it is decided."""

    run_id: RunId
    revision: int


@dataclass(frozen=True, slots=True)
class PostQuestion(Intent, only_shows=True):
    """Post a question as a comment that notifies; edit it once it is answered or withdrawn."""

    run_id: RunId
    question_id: QuestionId


@dataclass(frozen=True, slots=True)
class PostReport(Intent, only_shows=True):
    """Post the final report, or the failure with its last known state."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class WriteFindings(Intent, only_shows=True):
    """Write or edit the comment with an investigation's findings, and the follow-ups that wait for a tick."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class Say(Intent, only_shows=True):
    """Post a comment; `about` makes it the same comment, e.g. `command:12345`. `place`: issue or pull.

    About a command from outside GitHub, `answer` is the part of `text` for whoever gave it; `is_done`: the
    command did something, what it asks for was so already, or it was there only to be answered.
    """

    about: str
    text: str
    place: str = "issue"
    answer: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class React(Intent, only_shows=True):
    """Acknowledge a comment. `place`: issue, pull or review; `content`: GitHub's names, eyes, +1 …"""

    place: str
    comment_id: int
    content: str


@dataclass(frozen=True, slots=True)
class UntickBoxes(Intent, only_shows=True):
    """Take the ticks out of the boxes of a comment of Cardinal's own. `place`: issue, pull or review."""

    place: str
    comment_id: int


@dataclass(frozen=True, slots=True)
class UpdateFace(Intent, only_shows=True):
    """Write the card's project fields, where they differ."""


@dataclass(frozen=True, slots=True)
class DescribeColumns(Intent, only_shows=True):
    """Write each column's description, where it differs. `card_id` is the board's id."""


@dataclass(frozen=True, slots=True)
class UpdateTicker(Intent, only_shows=True):
    """Post the board's status update ("3 running · 1 waiting on you"). `card_id` is the board's id."""


@dataclass(frozen=True, slots=True)
class ReportPolicy(Intent, only_shows=True):
    """Say on the commit, as a check run, whether the policy file is good. `card_id` is the board's id."""

    commit: str


@dataclass(frozen=True, slots=True)
class PreviewPolicy(Intent, only_shows=True):
    """Report the changes by a branch's policy on its commit, as a check run. `card_id` is the board's id."""

    commit: str


@dataclass(frozen=True, slots=True)
class WriteCheck(Intent, only_shows=True):
    """Write the check run on `head`, the pull request's commit: the gate's result and the buttons."""

    head: str


@dataclass(frozen=True, slots=True)
class CheckGroup(Intent, only_shows=True):
    """Report the gate's result of pull request `number` on `head`, a commit of the merge queue."""

    number: int
    head: str


@dataclass(frozen=True, slots=True)
class MoveCard(Intent):
    """Move the card to a column; `about` makes it the same move.

    `source` is the column that it must still stand in when it is its turn; empty: wherever it stands. `by`
    asked for it; empty: whoever the card's run is for.
    """

    column: str
    about: str
    source: str = ""
    by: str = ""

    @property
    def commanded(self) -> bool:
        """Whether somebody's command asks for it, who wants to know its outcome."""
        return self.about.startswith("command:")


@dataclass(frozen=True, slots=True)
class ConvertDraft(Intent):
    """Make an issue of a draft issue, because it needs a conversation."""


@dataclass(frozen=True, slots=True)
class CreateCard(Intent):
    """Make an issue that a run's agent asked for, and a card of it in the board's inbox.

    `proposal` counts in the run from 1. `again`: somebody wants it, so one that was given up is tried anew.
    `repository` is another one than the card's, where `by` agreed to it: the card's `relation` to the new one
    is blocked_by or blocks. The new one waits for `parents`, and for the run's own proposals in `after`.
    It goes on from the inbox to `column`, and gets `skills`, for whoever asked for the run; `agent` shall
    work on it.
    """

    run_id: RunId
    proposal: int
    title: str
    body: str
    reason: str
    again: bool = False
    repository: str = ""
    relation: str = ""
    by: str = ""
    parents: tuple[str, ...] = ()
    after: tuple[int, ...] = ()
    column: str = ""
    skills: tuple[str, ...] = ()
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CreateScheduledCard(Intent):
    """Make the card of a schedule's time. `card_id` is the board's id; `key` makes it the same card.

    The card's content is in the policy of that moment; `repository` is empty for the board's home, `column`
    for its first inbox, and `event` unless that makes it, not the time.
    """

    key: str
    schedule: str
    due_at: datetime
    title: str
    body: str
    repository: str
    column: str
    labels: tuple[str, ...]
    event: str = ""


@dataclass(frozen=True, slots=True)
class CreateJob(Intent):
    """Make the card that a program asked for, in the board's inbox. `card_id` is the board's id.

    The fields are those of JobRequested; `body` is the account's own text.
    """

    key: str
    repository: str
    title: str
    body: str
    labels: tuple[str, ...]
    parents: tuple[str, ...]
    column: str
    skills: tuple[str, ...]
    by: str
    via: str


@dataclass(frozen=True, slots=True)
class LinkCard(Intent):
    """Make GitHub's own dependency between the card's issue and `target`, owner/repository#number, as a
    run's agent wants it, or a person by the command `about`. `relation`: blocks or blocked_by.
    """

    run_id: RunId
    target: str
    relation: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class NoticeLine:
    """One thing that is told: of a card, or by `text` of the board; of a question only while it is open."""

    kind: NoticeKind
    card_id: str = ""
    question_id: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SendNotice(Intent, only_shows=True):
    """Send these lines to a subscriber. `card_id` is the board's id; `key` makes it the same notice.
    `truncated`: there was more news than a digest keeps.
    """

    key: str
    name: str
    lines: tuple[NoticeLine, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class OpenPull(Intent):
    """Open the draft pull request for the card's branch. `again`: somebody wants it, as in CreateCard."""

    run_id: RunId
    again: bool = False


@dataclass(frozen=True, slots=True)
class UpdatePull(Intent, only_shows=True):
    """Bring the pull request's body up to date."""


@dataclass(frozen=True, slots=True)
class MarkReady(Intent):
    """Take the pull request out of draft; `about` makes it the same act."""

    about: str


@dataclass(frozen=True, slots=True)
class MergePull(Intent):
    """Merge, guarded by `head`. `method`: merge, squash or rebase; `about` makes it the same attempt.

    `requires` is the condition that must still hold when it is its turn: approved, or none. `fresh`: only a
    head that was rebased and checked on the commit where the base stands then.
    """

    method: str
    head: str
    about: str = ""
    requires: str = "none"
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class CancelMerge(Intent):
    """Let GitHub no longer merge the pull request by itself at `head`; `because` is read by people."""

    head: str
    because: str


@dataclass(frozen=True, slots=True)
class DeleteBranch(Intent):
    """Delete the card's branch on GitHub."""

    branch: str


@dataclass(frozen=True, slots=True)
class ClosePull(Intent):
    """Close the pull request without merging and say why."""

    because: str


@dataclass(frozen=True, slots=True)
class SupersedePull(Intent):
    """Close a pull request that is the card's no more, and say why."""

    repository: str
    number: int
    because: str


@dataclass(frozen=True, slots=True)
class AnswerThread(Intent, only_shows=True):
    """Reply to a review thread, and resolve it where the run addressed it."""

    run_id: RunId
    thread_id: str


@dataclass(frozen=True, slots=True)
class AskAssistant(Intent):
    """Let the planning assistant answer up to `upto` (a comment id, 0 for the description)."""

    upto: int


@dataclass(frozen=True, slots=True)
class RunTask(Intent):
    """Run one `ai_task` rule. `rule` is its place in the policy, `occasion` makes it the same call.

    The answer may set `labels` of these, choose one of `options` for the project field `field`, hold a
    `brief` for the card's next runs, and `expand` its description.
    """

    rule: str
    prompt: str
    model: str
    occasion: str
    labels: tuple[str, ...] = ()
    field: str = ""
    options: tuple[str, ...] = ()
    brief: bool = False
    expand: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Intents, and a short sentence for each thing that was considered. An event without news is dropped.

    An intent among the sentences stands for the one that it leads to.
    """

    intents: tuple[Intent | RuleEvent, ...] = ()
    because: tuple[str | Intent, ...] = ()

    def __add__(self, other: "Decision") -> "Decision":
        return Decision(self.intents + other.intents, self.because + other.because)
