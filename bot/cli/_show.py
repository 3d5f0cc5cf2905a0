"""How commands print: tables and lines that no outside text can spoil, or JSON."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

from rules.words import plain

C = TypeVar("C", bound=Callable[..., Any])
CELL = 60


def json_option(command: C) -> C:
    """Add `--json` to a command, as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def show(found: object, *, as_json: bool, text: Callable[[], Iterable[str]]) -> None:
    """Print `found` as JSON, or the lines that `text` makes of it."""
    if as_json:
        click.echo(json.dumps(_simple(found), indent=2))
        return
    for line in text():
        click.echo(line)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> Iterable[str]:
    """Yield a table's lines with columns as wide as their contents, or the sentence `empty`."""
    cells = [[plain(_word(cell), CELL) for cell in row] for row in rows]
    if not cells:
        yield empty
        return
    widths = [max(len(row[place]) for row in [list(heads), *cells]) for place in range(len(heads))]
    for row in [list(heads), *cells]:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def line(text: str) -> str:
    """Return outside text as one line that cannot move the cursor or turn the reading direction."""
    return plain(text, 500)


def block(text: str) -> Iterable[str]:
    """Yield outside text line by line, each harmless and indented."""
    for one in text.splitlines():
        yield f"  {line(one)}" if one.strip() else ""


def when(at: datetime | None) -> str:
    """Return a time to the second, in UTC."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def gone(dropped: str) -> str:
    """Return why an artifact is not in the store, as ArtifactDropped has it, in words; empty while it is."""
    whys = {"share": "not kept: the run had left its share", "": ""}
    return whys.get(dropped, f"dropped: {dropped}")


def _word(cell: object) -> str:
    if isinstance(cell, datetime):
        return when(cell)
    return "" if cell is None else str(cell)


def _simple(found: object) -> object:
    """Return what json can write: dataclasses and named tuples by field, times as text."""
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {field.name: _simple(getattr(found, field.name)) for field in dataclasses.fields(found)}
    if isinstance(found, tuple) and hasattr(found, "_asdict"):
        found = found._asdict()
    if isinstance(found, Mapping):
        return {str(name): _simple(value) for name, value in found.items()}
    if isinstance(found, list | tuple | set | frozenset):
        return [_simple(one) for one in found]
    if found is None or isinstance(found, bool | int | float):
        return found
    return found.isoformat() if isinstance(found, datetime) else str(found)
