"""The two vocabularies of state with their legal steps, of a card and of a run; and the codes of reasons."""

from collections.abc import Mapping
from enum import StrEnum

from ledger.errors import IllegalStepError

BY_ITSELF = "Cardinal"  # in place of a person: whoever lifts a halt, or answers, because its cause is gone


class Door(StrEnum):
    """The way by which a command came, or a run was asked for. A code is stored: never rename one.

    CHECKS are GitHub's results of a commit, POLICY is its `retry`, PARENT an answer on the parent's card.
    RESTORED: GitHub shows the run, and the ledger had lost it. REPLY is a front-end outside GitHub, as mail.
    """

    BOARD = "board"
    PARENT = "parent"
    COMMENT = "comment"
    BOX = "box"
    BUTTON = "button"
    PAGE = "page"
    API = "api"
    CLI = "cli"
    REPLY = "reply"
    CHECKS = "checks"
    POLICY = "policy"
    RESTORED = "restored"


class CardState(StrEnum):
    """The state of a card, as people read it on its face."""

    DRAFT = "draft"
    DISCUSSING = "discussing"
    QUEUED = "queued"
    WORKING = "working"
    NEEDS_INPUT = "needs_input"
    BLOCKED = "blocked"
    FAILED = "failed"
    WORK_COMPLETE = "work_complete"
    IN_REVIEW = "in_review"
    CHANGES_REQUESTED = "changes_requested"
    REVISING = "revising"
    APPROVED = "approved"
    DONE = "done"
    ARCHIVED = "archived"


class Reason(StrEnum):
    """Why a card stands as it does, where something depends on it: the sentence beside it is for people.

    A code is stored: never rename one. OTHER: nothing depends on the reason.
    """

    OTHER = ""
    BLOCKED = "blocked"
    BUDGET = "budget"
    CHECKS_RED = "checks_red"
    DEPENDENCY = "dependency"
    GITHUB_LIMIT = "github_limit"
    HALTED = "halted"
    MERGE_LANE = "merge_lane"
    MERGE_QUEUE = "merge_queue"
    MERGE_TURN = "merge_turn"
    MOVER_UNKNOWN = "mover_unknown"
    OUT_OF_REACH = "out_of_reach"
    PERSON = "person"
    REPOSITORY_UNCLEAR = "repository_unclear"
    RUN_FAILED = "run_failed"
    STOPPED = "stopped"


class Priority(StrEnum):
    """How urgent a card is, the most urgent first."""

    URGENT = "urgent"
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def precedence(self) -> int:
        """A number by which queues sort: 0 for normal, less for what goes first."""
        members = list(Priority)
        return members.index(self) - members.index(Priority.NORMAL)


class PullCard(StrEnum):
    """Which pull request a card is itself, in place of an issue. OWN: Cardinal opened it for another card."""

    NONE = ""
    OWN = "own"
    FORK = "fork"
    OTHER = "other"


class PullState(StrEnum):
    """The state of a card's pull request; NONE: it has none, or nobody has seen it."""

    NONE = ""
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


# Cards that wait for a person, in this order: who is stopped, what failed, what may be looked at or go on.
ATTENTION = (
    CardState.NEEDS_INPUT,
    CardState.FAILED,
    CardState.WORK_COMPLETE,
    CardState.CHANGES_REQUESTED,
    CardState.IN_REVIEW,
    CardState.APPROVED,
)
# In which order cards come that wait for a person; all others come behind.
NEED: Mapping[CardState, int] = {state: position for position, state in enumerate(ATTENTION)}


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    PREPARING = "preparing"
    PLANNING = "planning"
    AWAITING_APPROVAL = "awaiting_approval"
    WORKING = "working"
    PARKED = "parked"
    VALIDATING = "validating"
    PUBLISHING = "publishing"
    ENDED = "ended"


class RunKind(StrEnum):
    """Why a run is there. CHECK and RERUN are beside the card's own; CHOSEN, a rerun, became its own."""

    FIRST = "first"
    REVISION = "revision"
    RETRY = "retry"
    REPAIR = "repair"
    CHECK = "check"
    RERUN = "rerun"
    CHOSEN = "chosen"


class StopKind(StrEnum):
    """What a run was told; NONE: to go on."""

    NONE = ""
    CANCEL = "cancel"
    PAUSE = "pause"


class Ending(StrEnum):
    """The ending of a run; a run has exactly one."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class RunStatus(StrEnum):
    """What a run does or how it ended, as lists show it: a run whose card needs input does so, too."""

    QUEUED = "queued"
    WORKING = "working"
    NEEDS_INPUT = "needs_input"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class Gate(StrEnum):
    """The gate's word on one commit. `nothing`: the policy waives the checks; `unseen`: no result."""

    PASSED = "passed"
    FAILED = "failed"
    NOTHING = "nothing"
    UNSEEN = "unseen"

    @property
    def lets_through(self) -> bool:
        """Whether the commit may leave draft and be merged: an unseen one has not passed."""
        return self in (Gate.PASSED, Gate.NOTHING)


C = CardState
# Within one column; a move to another column starts at that column's first state or any other legal one.
CARD_STEPS: Mapping[CardState, tuple[CardState, ...]] = {
    C.DRAFT: (C.BLOCKED,),
    C.DISCUSSING: (C.NEEDS_INPUT, C.BLOCKED),
    C.QUEUED: (C.WORKING, C.REVISING, C.NEEDS_INPUT, C.BLOCKED, C.FAILED, C.WORK_COMPLETE),
    C.WORKING: (C.QUEUED, C.NEEDS_INPUT, C.BLOCKED, C.FAILED, C.WORK_COMPLETE),
    C.REVISING: (C.QUEUED, C.NEEDS_INPUT, C.BLOCKED, C.FAILED, C.WORK_COMPLETE),
    C.NEEDS_INPUT: (
        C.QUEUED, C.WORKING, C.REVISING, C.BLOCKED, C.FAILED, C.WORK_COMPLETE, C.DISCUSSING, C.IN_REVIEW,
    ),
    C.BLOCKED: (
        C.QUEUED, C.WORKING, C.REVISING, C.NEEDS_INPUT, C.FAILED, C.DRAFT, C.DISCUSSING, C.IN_REVIEW,
        C.CHANGES_REQUESTED, C.APPROVED, C.DONE, C.WORK_COMPLETE,
    ),
    C.FAILED: (C.QUEUED, C.BLOCKED, C.WORK_COMPLETE),
    C.WORK_COMPLETE: (C.QUEUED, C.CHANGES_REQUESTED, C.APPROVED, C.BLOCKED),
    C.IN_REVIEW: (C.CHANGES_REQUESTED, C.APPROVED, C.BLOCKED, C.NEEDS_INPUT),
    C.CHANGES_REQUESTED: (C.APPROVED, C.IN_REVIEW, C.QUEUED, C.BLOCKED, C.WORK_COMPLETE),
    C.APPROVED: (C.CHANGES_REQUESTED, C.IN_REVIEW, C.QUEUED, C.BLOCKED, C.WORK_COMPLETE),
    C.DONE: (C.BLOCKED,),
    C.ARCHIVED: tuple(state for state in CardState if state is not C.ARCHIVED),
}  # fmt: skip
R = RunState
_BACK = (R.QUEUED, R.PARKED, R.ENDED)  # reclaimed after a crash, parked on a question or a cap, or ended
RUN_STEPS: Mapping[RunState, tuple[RunState, ...]] = {
    R.QUEUED: (R.CLAIMED, R.PARKED, R.ENDED),
    R.CLAIMED: (R.PREPARING, *_BACK),
    R.PREPARING: (R.PLANNING, R.WORKING, R.VALIDATING, R.PUBLISHING, *_BACK),
    R.PLANNING: (R.AWAITING_APPROVAL, R.WORKING, *_BACK),
    R.AWAITING_APPROVAL: (R.QUEUED, R.ENDED),
    R.WORKING: (R.VALIDATING, R.PUBLISHING, *_BACK),
    R.PARKED: (R.QUEUED, R.ENDED),
    R.VALIDATING: (R.WORKING, R.PUBLISHING, *_BACK),
    # Worked on and validated again when people pushed to the branch meanwhile.
    R.PUBLISHING: (R.WORKING, R.VALIDATING, *_BACK),
    R.ENDED: (),
}
# While in one of these a worker holds the run and its lease must be alive.
RUN_HELD = (R.CLAIMED, R.PREPARING, R.PLANNING, R.WORKING, R.VALIDATING, R.PUBLISHING)


def check_card_step(
    legal: tuple[CardState, ...], before: CardState, after: CardState, *, moved: bool
) -> None:
    """Raise IllegalStepError unless a card whose states are `legal` may go from `before` to `after`."""
    if after is CardState.ARCHIVED:
        return
    if after not in legal or not (moved or after in CARD_STEPS[before]):
        raise IllegalStepError(f"a card that may be {', '.join(legal)}", before, after)


def check_run_step(before: RunState, after: RunState) -> None:
    """Raise IllegalStepError unless a run may go from `before` to `after`."""
    if after not in RUN_STEPS[before]:
        raise IllegalStepError("a run", before, after)
