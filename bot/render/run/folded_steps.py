"""A timeline with an agent's steps in a row as one line, the same on a card's page and in the terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ledger.queries.run_lines import RunLine
from ledger.queries.timeline import TimelineRow
from rules.runs.tool_steps import step_folds

Row = TypeVar("Row", TimelineRow, RunLine)


def folded(rows: Sequence[Row]) -> Iterator[tuple[Row, Sequence[Row]]]:
    """Yield each line without steps, and each fold as one line with its steps, in the order of `rows`."""
    place = 0
    for fold in step_folds([row.step for row in rows]):
        yield from ((row, ()) for row in rows[place : fold.first])
        yield replace(rows[fold.first], text=fold.text, step=None), rows[fold.first : fold.end]
        place = fold.end
    yield from ((row, ()) for row in rows[place:])
