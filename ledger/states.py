"""The two vocabularies of state with their legal steps: of a card and of a run."""

from collections.abc import Mapping
from enum import StrEnum

from ledger.errors import IllegalStepError


class Archetype(StrEnum):
    """The kind of a column."""

    INBOX = "inbox"
    PLANNING = "planning"
    EXECUTION = "execution"
    REVIEW = "review"
    TERMINAL = "terminal"


class CardState(StrEnum):
    """How a card is doing, as people read it on its face."""

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


# Cards that wait for a person, in this order: who is stopped, what failed, what may be looked at or go on.
ATTENTION = (
    CardState.NEEDS_INPUT,
    CardState.FAILED,
    CardState.WORK_COMPLETE,
    CardState.CHANGES_REQUESTED,
    CardState.IN_REVIEW,
    CardState.APPROVED,
)


class RunState(StrEnum):
    """Where a run is."""

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


class Ending(StrEnum):
    """How a run ended; a run has exactly one."""

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
# What a card may be in, by the archetype of its column. Archived is legal everywhere.
CARD_STATES: Mapping[Archetype, tuple[CardState, ...]] = {
    Archetype.INBOX: (C.DRAFT, C.BLOCKED),
    Archetype.PLANNING: (C.DISCUSSING, C.NEEDS_INPUT, C.BLOCKED),
    Archetype.EXECUTION: (
        C.QUEUED, C.WORKING, C.REVISING, C.NEEDS_INPUT, C.BLOCKED, C.FAILED, C.WORK_COMPLETE,
        C.CHANGES_REQUESTED, C.APPROVED,
    ),
    Archetype.REVIEW: (C.IN_REVIEW, C.CHANGES_REQUESTED, C.APPROVED, C.BLOCKED, C.NEEDS_INPUT),
    Archetype.TERMINAL: (C.DONE, C.BLOCKED),
}  # fmt: skip
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


def kind_for(archetype: Archetype, after: CardState, *, live: bool) -> Archetype:
    """Return the kind of column by which a card becomes `after`: a live run's states hold in any column."""
    works = live and after in CARD_STATES[Archetype.EXECUTION] and after not in CARD_STATES[archetype]
    return Archetype.EXECUTION if works else archetype


def check_card_step(archetype: Archetype, before: CardState, after: CardState, *, moved: bool) -> None:
    """Raise IllegalStepError unless a card may go from `before` to `after` in a column of `archetype`."""
    if after is CardState.ARCHIVED:
        return
    legal = after in CARD_STATES[archetype] and (moved or after in CARD_STEPS[before])
    if not legal:
        raise IllegalStepError(f"a card in a column of kind {archetype}", before, after)


def check_run_step(before: RunState, after: RunState) -> None:
    """Raise IllegalStepError unless a run may go from `before` to `after`."""
    if after not in RUN_STEPS[before]:
        raise IllegalStepError("a run", before, after)
