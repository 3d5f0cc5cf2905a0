"""Ledger reads about the sub-issues that a card's queued run waits for."""

from collections.abc import Iterable

from sqlalchemy import Connection

from ledger.ids import RunId
from ledger.rows.cards import CardRow
from ledger.rows.links import LinkRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, RunState
from ledger.views import links, runs
from rules.snapshot import FailedPart


def to_do(db: Connection, row: CardRow, run: RunRow | None) -> tuple[CardRow, ...]:
    """Return the cards of the sub-issues that the run waits for."""
    waits = run is not None and run.state is RunState.QUEUED and run.waits_for_parts and not run.begun
    return links.parts_to_do(db, row.repository, row.number) if waits else ()


def as_link(row: CardRow, part: CardRow) -> LinkRow:
    """Return the sub-issue as an issue that the card waits for."""
    place = (part.repository or "", part.number or 0)
    return LinkRow(row.card_id, *place, part.title, state="open", done=False, public=False)


def find_failed_parts(db: Connection, row: CardRow, parts: Iterable[CardRow]) -> tuple[FailedPart, ...]:
    """Return those of the parts whose newest run failed or was cancelled."""
    newest = ((part, runs.get(db, RunId(part.run_id))) for part in parts if part.run_id)
    lost = ((part, run) for part, run in newest if run and _is_lost(part, run))
    return tuple(FailedPart(run, as_link(row, part), is_beside(row, part)) for part, run in lost)


def _is_lost(part: CardRow, run: RunRow) -> bool:
    """Tell whether nothing goes on by itself; one that was dragged away was cancelled for something else."""
    cancelled = run.ending is Ending.CANCELLED and part.state is CardState.BLOCKED
    return cancelled or run.ending in (Ending.FAILED, Ending.LOST)


def is_beside(row: CardRow, part: CardRow) -> bool:
    """Tell whether who may answer on the card may retry its sub-issue: same repository, and same policy."""
    return (part.repository, part.board_id) == (row.repository, row.board_id)
