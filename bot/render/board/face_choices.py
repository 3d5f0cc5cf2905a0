"""The options of a card's face: its state, the validation of its commit, the next act that it waits for."""

from collections.abc import Mapping
from enum import StrEnum

from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Gate, Reason, RunState
from rules.text import state_word

MARKS: Mapping[CardState, str] = {
    CardState.NEEDS_INPUT: "🙋",
    CardState.FAILED: "❌",
    CardState.BLOCKED: "⛔",
    CardState.WORKING: "🔨",
    CardState.REVISING: "🔨",
    CardState.QUEUED: "⏳",
    CardState.DISCUSSING: "💬",
    CardState.WORK_COMPLETE: "✅",
    CardState.IN_REVIEW: "👀",
    CardState.CHANGES_REQUESTED: "📝",
    CardState.APPROVED: "👍",
    CardState.DONE: "🏁",
}


class ValidationResult(StrEnum):
    """The gate's result on the card's commit, as an option of the field; nothing before there is a commit."""

    NONE = ""
    PASSED = "✅ passed"
    FAILED = "❌ failed"
    RUNNING = "⏳ running"
    NOT_RUN = "not run"
    WAIVED = "waived"


class WaitingOn(StrEnum):
    """The next act that the card waits for, as an option of the field."""

    NOTHING = ""
    ANSWER = "an answer"
    APPROVAL = "plan approval"
    REVIEW = "a review"
    PERSON = "a person"
    CHECKS = "checks"
    SLOT = "a free slot"
    CARD = "another card"
    STOP = "a stop to be lifted"
    HALT = "the halt to end"
    BUDGET = "more budget"
    GITHUB = "GitHub's limit"


_OF_GATE: Mapping[Gate, ValidationResult] = {
    Gate.PASSED: ValidationResult.PASSED,
    Gate.FAILED: ValidationResult.FAILED,
    Gate.NOTHING: ValidationResult.WAIVED,
    Gate.UNSEEN: ValidationResult.NOT_RUN,
}
_OF_REASON: Mapping[Reason, WaitingOn] = {
    Reason.MERGE_LANE: WaitingOn.CARD,
    Reason.MERGE_QUEUE: WaitingOn.CHECKS,  # GitHub merges the pull request once its checks have passed
    Reason.MERGE_TURN: WaitingOn.NOTHING,  # it is being merged
}
_OF_QUEUED: Mapping[Reason, WaitingOn] = {
    Reason.DEPENDENCY: WaitingOn.CARD,
    Reason.PERSON: WaitingOn.PERSON,
    Reason.STOPPED: WaitingOn.STOP,
    Reason.HALTED: WaitingOn.HALT,
    Reason.BUDGET: WaitingOn.BUDGET,
    Reason.GITHUB_LIMIT: WaitingOn.GITHUB,
}
_REVIEWED = (CardState.WORK_COMPLETE, CardState.IN_REVIEW)
_OF_PEOPLE = (
    *(*_REVIEWED, CardState.NEEDS_INPUT, CardState.BLOCKED, CardState.FAILED),
    *(CardState.CHANGES_REQUESTED, CardState.APPROVED),
)


def choose_state(state: CardState) -> str:
    """Return the option of a state; empty for a card that rests: "draft" is GitHub's word for an issue that
    is not one yet.
    """
    return f"{MARKS.get(state, '')} {state_word(state)}".strip()


# The options of each field with their colours on GitHub, in their order there.
STATES: Mapping[str, str] = {
    choose_state(state): color
    for color, states in {
        "ORANGE": (CardState.NEEDS_INPUT,),
        "RED": (CardState.FAILED, CardState.BLOCKED),
        "BLUE": (CardState.QUEUED, CardState.WORKING, CardState.REVISING),
        "YELLOW": (CardState.DISCUSSING, CardState.CHANGES_REQUESTED),
        "PURPLE": (CardState.WORK_COMPLETE, CardState.IN_REVIEW),
        "GREEN": (CardState.APPROVED, CardState.DONE),
        "GRAY": (CardState.ARCHIVED,),
    }.items()
    for state in states
}
VALIDATIONS: Mapping[str, str] = {
    ValidationResult.PASSED: "GREEN",
    ValidationResult.FAILED: "RED",
    ValidationResult.RUNNING: "BLUE",
    ValidationResult.NOT_RUN: "YELLOW",
    ValidationResult.WAIVED: "GRAY",
}
WAITS: Mapping[str, str] = {
    WaitingOn.ANSWER: "ORANGE",
    WaitingOn.APPROVAL: "ORANGE",
    WaitingOn.REVIEW: "PURPLE",
    WaitingOn.PERSON: "YELLOW",
    WaitingOn.CHECKS: "BLUE",
    WaitingOn.SLOT: "GRAY",
    WaitingOn.CARD: "GRAY",
    WaitingOn.STOP: "YELLOW",
    WaitingOn.HALT: "RED",
    WaitingOn.BUDGET: "YELLOW",
    WaitingOn.GITHUB: "GRAY",
}


def choose_validation(run: RunRow | None, gate: Gate | None, *, checking: bool) -> ValidationResult:
    """Return the option for the result `gate` on the card's commit; None before there is one.

    `checking`: a run that only checks is alive.
    """
    if checking or (run is not None and run.state is RunState.VALIDATING):
        return ValidationResult.RUNNING
    return ValidationResult.NONE if gate is None else _OF_GATE[gate]


def choose_wait(card: CardRow, run: RunRow | None, *, checking: bool) -> WaitingOn:
    """Return the act that the card waits for, by its newest run while that is alive, else by its state."""
    if card.archived or card.pull_card:  # nobody is asked for anything there
        return WaitingOn.NOTHING
    if run is not None and run.ending is None:
        return _of_live_run(card, run)
    if checking:
        return WaitingOn.CHECKS
    if card.reason in _OF_REASON:
        return _OF_REASON[card.reason]
    if card.assistant_waits and card.state is CardState.NEEDS_INPUT:
        return WaitingOn.ANSWER
    if card.state is CardState.DISCUSSING:
        return _of_conversation(card)
    if card.state in _REVIEWED and card.has_open_pull:
        return WaitingOn.REVIEW
    return WaitingOn.PERSON if card.state in _OF_PEOPLE else WaitingOn.NOTHING


def _of_live_run(card: CardRow, run: RunRow) -> WaitingOn:
    if run.question_id:
        return WaitingOn.ANSWER
    match run.state:
        case RunState.AWAITING_APPROVAL:
            return WaitingOn.APPROVAL
        case RunState.QUEUED if card.state is not CardState.QUEUED:  # blocked, or its dependency was given up
            return WaitingOn.PERSON
        case RunState.QUEUED:
            return _OF_QUEUED.get(card.reason, WaitingOn.SLOT)
        case RunState.PARKED:
            return WaitingOn.PERSON
        case RunState.VALIDATING:
            return WaitingOn.CHECKS
        case _:
            return WaitingOn.NOTHING


def _of_conversation(card: CardRow) -> WaitingOn:
    """Wait for the assistant's reply, which is nothing that people can do, or for people to continue."""
    unanswered = card.last_said > card.last_answered or (bool(card.body.strip()) and not card.brief)
    return WaitingOn.NOTHING if unanswered else WaitingOn.PERSON
