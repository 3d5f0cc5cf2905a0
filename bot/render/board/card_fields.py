"""Card fields: the values that Cardinal writes into the project."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from bot.render.board import face_choices
from bot.render.markdown.escape import cut, escape_mentions
from ledger.model.spend_limits import AS_REPORTED
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Gate, Priority, Reason, RunState
from rules.text import count, in_queue

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
    FaceField.AGENT: face_choices.STATES,
    FaceField.VALIDATION: face_choices.VALIDATIONS,
    FaceField.WAITS: face_choices.WAITS,
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
        FaceField.AGENT: face_choices.choose_state(card.state),
        FaceField.WAITS: face_choices.choose_wait(card, run, checking=checking),
        FaceField.VALIDATION: face_choices.choose_validation(run, gate, checking=checking),
        FaceField.PROGRESS: " · ".join(filter(None, (parts_done(parts), _progress(card, run)))),
        FaceField.RUN: _run(card, run, place) + _whose_cost(run),
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


def _whose_cost(run: RunRow | None) -> str:
    """Return the words beside the number of a cost that nothing but the agent counted."""
    return f" · cost{AS_REPORTED}" if run is not None and run.is_reported and run.usd else ""


def _pull(card: CardRow) -> str:
    if card.pull_number is None:
        return ""
    draft = card.pull_draft and card.has_open_pull
    return f"#{card.pull_number} {'draft' if draft else card.pull_state}"
