"""What the rules can ask for. An intent does nothing itself.

Inward intents become events in the same transaction (`bot/apply.py`); outward ones become outbox entries,
carried out by the file of the same name in `bot/github/acts/`.
"""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import BoardId, CardId, QuestionId, RunId
from ledger.states import CardState, Ending


@dataclass(frozen=True, slots=True)
class Intent:
    """The base of all intents: the card they are about."""

    card_id: CardId


# --- inward: they become events -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChangeCardState(Intent):
    """Move the card's state; `because` is read by people."""

    after: CardState
    because: str


@dataclass(frozen=True, slots=True)
class Explain(Intent):
    """Say why the card waits, in one line."""

    because: str


@dataclass(frozen=True, slots=True)
class HoldBack(Intent):
    """Remember the column that the card was dragged to; empty `wanted` forgets it."""

    wanted: str
    by: str


@dataclass(frozen=True, slots=True)
class QueueRun(Intent):
    """Queue a new run. `kind`: first, revision, retry, or repair of checks that are red."""

    kind: str
    by: str
    plan_required: bool


@dataclass(frozen=True, slots=True)
class ApprovePlan(Intent):
    """Record the approval of the plan; `bound` is the digest of what was approved."""

    run_id: RunId
    by: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class RebindPlan(Intent):
    """Let the next approval of the plan be about this base commit and policy."""

    run_id: RunId
    base: str
    policy: str


@dataclass(frozen=True, slots=True)
class RedirectPlan(Intent):
    """Send the plan back with words."""

    run_id: RunId
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerQuestion(Intent):
    """Record the answer."""

    run_id: RunId
    question_id: QuestionId
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class AskQuestion(Intent):
    """Ask people something on behalf of the rules; `asker` is `leave` for a card dragged out mid-run."""

    run_id: RunId
    asker: str
    text: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RaiseBudget(Intent):
    """Add dollars to a run's own budget; `at` is the moment, by whose day the limits of a day are counted."""

    run_id: RunId
    usd: float
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AllowTool(Intent):
    """Allow the card's agents what matches the pattern, unasked."""

    pattern: str
    by: str


@dataclass(frozen=True, slots=True)
class RequeueRun(Intent):
    """Let a parked or waiting run go on. `why`: answered, approved, redirected or resumed."""

    run_id: RunId
    why: str


@dataclass(frozen=True, slots=True)
class StopRun(Intent):
    """Tell a run to stop: `how` is cancel or pause. A run that no worker holds stops at once."""

    run_id: RunId
    how: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class EndRun(Intent):
    """End a run that no worker holds."""

    run_id: RunId
    ending: Ending
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class SteerRun(Intent):
    """Hand a person's message to the running agent."""

    run_id: RunId
    by: str
    text: str
    comment_id: int


@dataclass(frozen=True, slots=True)
class ReleaseComment(Intent):
    """Let the words of somebody without write access count as if `by` had said them."""

    comment_id: int
    place: str
    by: str


@dataclass(frozen=True, slots=True)
class OrderStop(Intent):
    """Switch a kill switch on. `scope`: board, column or card."""

    board_id: BoardId
    scope: str
    target: str
    by: str


@dataclass(frozen=True, slots=True)
class LiftStop(Intent):
    """Switch a kill switch off."""

    board_id: BoardId
    scope: str
    target: str
    by: str


# --- outward: they become outbox entries ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteRunComment(Intent):
    """Write or edit the run's one sticky comment from the ledger as it then is."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class PostPlan(Intent):
    """Post a plan that waits for approval, as a comment that notifies."""

    run_id: RunId
    revision: int


@dataclass(frozen=True, slots=True)
class SettlePlan(Intent):
    """Edit the plan's comment to say who approved or redirected it."""

    run_id: RunId
    revision: int


@dataclass(frozen=True, slots=True)
class PostQuestion(Intent):
    """Post a question as a comment that notifies."""

    run_id: RunId
    question_id: QuestionId


@dataclass(frozen=True, slots=True)
class SettleQuestion(Intent):
    """Edit the question's comment to show its answer."""

    run_id: RunId
    question_id: QuestionId


@dataclass(frozen=True, slots=True)
class PostReport(Intent):
    """Post the final report, or the failure with its last known state."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class Say(Intent):
    """Post a comment; `about` makes it the same comment, e.g. `command:12345`. `place`: issue or pull."""

    about: str
    text: str
    place: str = "issue"


@dataclass(frozen=True, slots=True)
class React(Intent):
    """Acknowledge a comment. `place`: issue, pull or review; `content`: GitHub's names, eyes, +1 …"""

    place: str
    comment_id: int
    content: str


@dataclass(frozen=True, slots=True)
class UntickBoxes(Intent):
    """Take the ticks out of the boxes of a comment of Cardinal's own. `place`: issue, pull or review."""

    place: str
    comment_id: int


@dataclass(frozen=True, slots=True)
class UpdateFace(Intent):
    """Write the card's project fields, where they differ."""


@dataclass(frozen=True, slots=True)
class DescribeColumns(Intent):
    """Write each column's description, where it differs. `card_id` is the board's id."""


@dataclass(frozen=True, slots=True)
class UpdateTicker(Intent):
    """Post the board's status update ("3 running · 1 waiting on you"). `card_id` is the board's id."""


@dataclass(frozen=True, slots=True)
class ReportPolicy(Intent):
    """Say on the commit, as a check run, whether the policy file is good. `card_id` is the board's id."""

    commit: str


@dataclass(frozen=True, slots=True)
class MoveCard(Intent):
    """Move the card to a column; `about` makes it the same move.

    `source` is the column that it must still stand in when it is its turn; empty: wherever it stands.
    """

    column: str
    about: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class ConvertDraft(Intent):
    """Make an issue of a draft issue, because it needs a conversation."""


@dataclass(frozen=True, slots=True)
class CreateCard(Intent):
    """Make an issue that a run's agent asked for, and a card of it in the board's inbox.

    `proposal` counts in the run from 1.
    """

    run_id: RunId
    proposal: int
    title: str
    body: str
    reason: str


@dataclass(frozen=True, slots=True)
class OpenPull(Intent):
    """Open the draft pull request for the card's branch."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class UpdatePull(Intent):
    """Bring the pull request's body up to date."""


@dataclass(frozen=True, slots=True)
class MarkReady(Intent):
    """Take the pull request out of draft; `about` makes it the same act."""

    about: str


@dataclass(frozen=True, slots=True)
class MergePull(Intent):
    """Merge, guarded by `head`. `method`: merge, squash or rebase; `about` makes it the same attempt.

    `requires` is what must still hold when it is its turn: approved, or none.
    """

    method: str
    head: str
    about: str = ""
    requires: str = "none"


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
class AnswerThread(Intent):
    """Reply to a review thread with the commit and resolve it."""

    run_id: RunId
    thread_id: str


@dataclass(frozen=True, slots=True)
class AskAssistant(Intent):
    """Let the planning assistant answer what was said up to `upto` (a comment id, 0 for the description)."""

    upto: int


@dataclass(frozen=True, slots=True)
class RunTask(Intent):
    """Run one `ai_task` rule. `rule` is its place in the policy, `occasion` makes it the same call."""

    rule: str
    prompt: str
    model: str
    occasion: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules ask for and why; `because` has one short sentence for each thing that was considered."""

    intents: tuple[Intent, ...] = ()
    because: tuple[str, ...] = ()

    def __add__(self, other: "Decision") -> "Decision":
        return Decision(self.intents + other.intents, self.because + other.because)
