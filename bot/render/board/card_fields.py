"""Card fields: the values that Cardinal writes into the project, and the options of those that are chosen."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from bot.render.markdown.escape import cut, escape_mentions
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Gate, Priority, Reason, RunState
from rules.text import count, in_queue, state_word

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
    if card.state in _REVIEWED and card.pull_state == "open":
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


FIELD_LIMIT = 200  # longer text is unreadable on a card; GitHub itself takes 1,024
MAX_PLACE = 5  # the last place in a queue that is shown: those behind change too often
WHOLE = "more in the comments"
RUN_WORDS: Mapping[RunState, str] = {
    RunState.CLAIMED: "starting",
    RunState.AWAITING_APPROVAL: "plan ready",
    RunState.PARKED: "paused",
}


class FaceField(StrEnum):
    """The project fields that Cardinal makes and writes."""

    AGENT = "Agent"
    WAITS = "Waits for"
    VALIDATION = "Validation"
    PROGRESS = "Progress"
    RUN = "Run"
    COST = "Cost $"
    ELAPSED = "Elapsed min"
    PULL = "PR"


SINGLE_SELECT = "SINGLE_SELECT"
# Of what people can group, slice and colour a board by, and count in a chart.
KINDS: Mapping[FaceField, str] = {
    FaceField.AGENT: SINGLE_SELECT,
    FaceField.WAITS: SINGLE_SELECT,
    FaceField.VALIDATION: SINGLE_SELECT,
    FaceField.PROGRESS: "TEXT",
    FaceField.RUN: "TEXT",
    FaceField.COST: "NUMBER",
    FaceField.ELAPSED: "NUMBER",
    FaceField.PULL: "TEXT",
}
# Of another kind on boards of an earlier version, until `cardinal init`.
EARLIER_KINDS: Mapping[FaceField, str] = {FaceField.AGENT: "TEXT"}


# The options of the fields that are chosen, each with its colour on GitHub, in their order there.
OPTIONS: Mapping[FaceField, Mapping[str, str]] = {
    FaceField.AGENT: STATES,
    FaceField.VALIDATION: VALIDATIONS,
    FaceField.WAITS: WAITS,
}


def field_values(
    card: CardRow,
    run: RunRow | None,
    *,
    card_usd: float,
    place: int = 0,
    parts: Sequence[CardRow] = (),
    gate: Gate | None = None,
    checking: bool = False,
) -> dict[FaceField, str | float]:
    """Return the value of each field; an empty text clears it. Without spending there is no cost.

    `place` is the run's place in the queue; 0 for none. `parts` are the cards of its sub-issues. `gate`: the
    result on the card's commit, None before there is one. `checking`: a run that only checks is alive.
    """
    fields: dict[FaceField, str | float] = {
        FaceField.AGENT: choose_state(card.state),
        FaceField.WAITS: choose_wait(card, run, checking=checking),
        FaceField.VALIDATION: choose_validation(run, gate, checking=checking),
        FaceField.PROGRESS: " · ".join(filter(None, (parts_done(parts), _progress(card, run)))),
        FaceField.RUN: _run(card, run, place),
        FaceField.PULL: _pull(card),
    }
    if card_usd >= 0.005:
        fields[FaceField.COST] = round(card_usd, 2)
    # A later attempt starts at zero again, and must not show the time of the one before.
    if run is not None and (run.active_s >= 30 or run.attempt > 1):
        fields[FaceField.ELAPSED] = float(round(run.active_s / 60))
    return fields


def parts_done(parts: Sequence[CardRow]) -> str:
    """Return the progress of a card's parts; empty without parts."""
    done = sum(part.state is CardState.DONE or part.closed == "completed" for part in parts)
    return f"{done} of {count(len(parts), 'part')} done" if parts else ""


def _one_line(text: str) -> str:
    """Return the text as a field shows it, where no Markdown is read."""
    return cut(" ".join(escape_mentions(text).replace("`", "").split()), FIELD_LIMIT, WHOLE)


def _progress(card: CardRow, run: RunRow | None) -> str:
    lives = run is not None and run.ending is None and run.state not in (RunState.QUEUED, RunState.PARKED)
    if run is not None and lives and run.last_line and card.state is not CardState.NEEDS_INPUT:
        return _one_line(run.last_line)
    if card.state is CardState.DRAFT and card.reason is not Reason.RUN_FAILED:
        return ""  # what the column's headline says already
    return _one_line(card.because)


def _run(card: CardRow, run: RunRow | None, place: int) -> str:
    if run is None:
        return ""
    name = f"{run.run_id} · attempt {run.attempt}" if run.attempt > 1 else run.run_id
    if run.ending is not None:
        return f"{name} · {run.ending}"
    if run.state is RunState.QUEUED:
        if card.reason is Reason.DEPENDENCY:
            return _one_line(f"{name} · {card.because}")
        name = name if run.priority is Priority.NORMAL else f"{name} · {run.priority}"
        return f"{name} · {in_queue(place) if 0 < place <= MAX_PLACE else 'queued'}"
    if run.state is RunState.PARKED and run.question_id:
        return f"{name} · question open"
    return f"{name} · {RUN_WORDS.get(run.state, run.state.replace('_', ' '))}"


def _pull(card: CardRow) -> str:
    if card.pull_number is None:
        return ""
    draft = card.pull_draft and card.pull_state == "open"
    return f"#{card.pull_number} {'draft' if draft else card.pull_state}"
