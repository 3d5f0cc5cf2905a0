"""Ledger reads about the sub-issues that a card's queued run waits for."""

from collections.abc import Callable, Iterable

from sqlalchemy import Connection

from ledger.ids import RunId
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import BY_ITSELF, CardState, Ending, RunState
from ledger.views import links, questions, runs
from rules.snapshot import BlockerSeen, FailedPart


def to_do(db: Connection, row: CardRow, run: RunRow | None) -> tuple[CardRow, ...]:
    """Return the cards of the sub-issues that the run waits for."""
    waits = run is not None and run.state is RunState.QUEUED and run.waits_for_parts and not run.begun
    return links.parts_to_do(db, row.repository, row.number) if waits else ()


def failed_parts(
    db: Connection,
    row: CardRow,
    run: RunRow | None,
    parts: Iterable[CardRow],
    seen: Callable[[CardRow], BlockerSeen],
) -> tuple[FailedPart, ...]:
    """Return those of the parts whose newest run failed or was cancelled, each as `seen` shows it."""
    newest = [(part, runs.get(db, RunId(part.run_id))) for part in parts if part.run_id]
    lost = [(part, it) for part, it in newest if it and _is_lost(part, it)]
    if run is None or not lost:
        return ()
    # A question that was over by itself is open again with its cause: a sub-issue closed and reopened.
    earlier = questions.of_run(db, run.run_id)
    known = {question.part for question in earlier if question.answered_by != BY_ITSELF}
    return tuple(
        FailedPart(
            *(it.run_id, seen(part), it.detail, is_beside(row, part), it.run_id in known),
            cancelled=it.ending is Ending.CANCELLED,
        )
        for part, it in lost
    )


def _is_lost(part: CardRow, run: RunRow) -> bool:
    """Tell whether nothing goes on by itself; one that was dragged away was cancelled for something else."""
    cancelled = run.ending is Ending.CANCELLED and part.state is CardState.BLOCKED
    return cancelled or run.ending in (Ending.FAILED, Ending.LOST)


def is_beside(row: CardRow, part: CardRow) -> bool:
    """Tell whether who may answer on the card may retry its sub-issue: same repository, and same policy."""
    return (part.repository, part.board_id) == (row.repository, row.board_id)
