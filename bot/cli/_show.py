"""Output of commands: tables and lines that no outside text can spoil, or JSON."""

import dataclasses
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ledger.model.metadata import metadata_lines
from ledger.model.spend_limits import AS_REPORTED
from rules.text import brief, plain, state_word, usd

if TYPE_CHECKING:  # what draws is imported where something is drawn: git's hooks do not wait for it
    from rich.console import Console
    from rich.table import Table

C = TypeVar("C", bound=Callable[..., Any])
CELL = 500
METADATA = "metadata"
UNBOUND = 10_000  # columns where nobody looks at them: a line is never wrapped there
PROSE = ("title", "why", "error", "because", "problem")  # what is wrapped, in columns of this width at least
PROSE_WIDTH = 24
FILTERS = {
    "state": "Only cards in this state, such as failed.",
    "repository": "Only cards for this owner/name: the issue's, or the one its newest run works in.",
    "person": "Only cards this person moved, requested work on, or is assigned to.",
    "agent": "Only cards whose newest run is by this agent or specialist.",
    "label": "Only cards with this label.",
    "search": "Only cards with all these words in the title, or this issue number.",
}
GAP, INDENT = 2, "    "
MAX_INLINE = 80  # characters of texts in one line
NAMES: Mapping[str, str] = {  # of facts, where their own are too short
    "agents_s": "waited for agents at work",
    "hours_per_merge": "worked for each merge",
    "needed_person": "needed a person",
    "people": "for",
    "people_s": "waited for people",
    "size_bytes": "bytes",
    "usd": "cost",
    "workers_s": "waited for a worker",
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")  # RFC 3339
COLOURS: Mapping[str, str] = {
    **dict.fromkeys(("failed", "lost", "fail"), "red"),
    **dict.fromkeys(("needs input", "blocked", "changes requested", "parked", "warn"), "yellow"),
    **dict.fromkeys(("awaiting approval", "work complete", "in review"), "yellow"),
    **dict.fromkeys(("succeeded", "done", "approved", "ok", "alive"), "green"),
    **dict.fromkeys(("working", "revising", "planning", "validating", "publishing"), "cyan"),
}


def filter_options(command: C) -> C:
    """Add the filters to a command, as arguments of their names."""
    for field, about in reversed(FILTERS.items()):
        command = click.option(f"--{field}", help=about)(command)
    return command


def json_option(command: C) -> C:
    """Add `--json` to a command, as the argument `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def clone_option(help_text: str) -> Callable[[C], C]:
    """Add `-C` to a command, as the argument `folder`: one that is there, the current one unless named."""
    kind = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("-C", "folder", type=kind, default=".", help=help_text)


def show(value: object, *, as_json: bool, text: Callable[[], Iterable[str]]) -> None:
    """Print the value as JSON, or the lines that `text` makes of it."""
    if as_json:
        click.echo(json.dumps(_simple(value), indent=2))
        return
    for line in text():
        click.echo(line)


def screen() -> "Console":
    """Return the console for tables: the terminal, or a pipe, where nothing is wrapped or coloured."""
    from rich.console import Console

    tty = sys.stdout.isatty()
    # Colours are rich's to decide in a terminal: it obeys NO_COLOR and TERM.
    return Console(force_terminal=tty, width=None if tty else UNBOUND, force_jupyter=False)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, console: "Console | None" = None
) -> Iterable[str]:
    """Yield a table's lines, or the sentence `empty`.

    In a narrow terminal, a row's prose follows in lines of its own, and before it the last facts that do not
    fit.
    """
    console = console or screen()
    cells = [[plain(_word(cell), CELL) for cell in row] for row in rows]
    if not cells:
        yield empty
        return
    facts = [position for position, head in enumerate(heads) if head not in PROSE]
    prose = [position for position, head in enumerate(heads) if head in PROSE]
    width = console.width
    if _width(console, _grid(heads, cells, facts)) + (PROSE_WIDTH + GAP) * len(prose) <= width:
        yield from _draw(console, _grid(heads, cells, range(len(heads))))
        return
    shown = list(facts)
    while len(shown) > 1 and _width(console, _grid(heads, cells, shown)) > width:
        shown.pop()
    console.width = UNBOUND
    head, *lines = _draw(console, _grid(heads, cells, shown))
    yield head
    for row, drawn in zip(cells, lines, strict=True):
        yield drawn
        more = " · ".join(
            f"{heads[position]} {row[position]}" for position in facts[len(shown) :] if row[position]
        )
        for text in (more, *(row[position] for position in prose)):
            yield from textwrap.wrap(text, width - GAP, initial_indent=INDENT, subsequent_indent=INDENT)


def answer_rows(listed: Iterable[object], columns: Sequence[str] = (), *, empty: str = "") -> Iterable[str]:
    """Yield the table of a list in an answer of the API, or of rows: of these columns, or of all that hold
    one fact.
    """
    documents = [cast("dict[str, Any]", _simple(row)) for row in listed]
    columns = columns or [
        name for row in documents[:1] for name, it in row.items() if not isinstance(it, list | dict)
    ]
    rows = [
        [_fact(row, column) if row.get(column) != 0 or column == "exit_code" else "" for column in columns]
        for row in documents
    ]
    return table(list(map(_label, columns)), rows, empty=empty)


def answer_lines(
    document: Mapping[str, Any], columns: Sequence[str] | Mapping[str, Sequence[str]] = ()
) -> Iterable[str]:
    """Yield an answer of the API, a line for each fact; what is empty is left out.

    `columns` are those of its one list, or of each list by its name, which then has a head.
    """
    for name, value in document.items():
        if "status" in document and name in ("state", "ending"):  # in other words
            continue
        if value not in (None, "", [], {}) and (name, value) != ("number", 0):
            yield from _fact_lines(document, name, columns)


def _fact_lines(
    document: Mapping[str, Any], name: str, columns: Sequence[str] | Mapping[str, Sequence[str]]
) -> Iterable[str]:
    """Yield one fact of an answer: a line, or what it holds below its name."""
    value = document[name]
    below: Iterable[str]
    match value:
        case [dict(), *_] if not isinstance(columns, Mapping):
            yield from answer_rows(value, columns)
            return
        case dict() if name == METADATA:  # its names are a program's, and no facts of ours
            below = map(clean, metadata_lines(value))
        case dict() if name.endswith("_by"):
            for inner, facts in value.items():
                yield from answer_lines({f"{name.removesuffix('_by')} by {inner}": facts})
            return
        case [dict(), *_] if isinstance(columns, Mapping):
            below = answer_rows(value, columns.get(name, ()))
        case dict() if any(isinstance(it, list) for it in value.values()):
            below = answer_lines(value, columns)
        case [str(), *_] if sum(map(len, value)) > MAX_INLINE:
            below = (f"- {clean(it)}" for it in value)
        case str() if "\n" in value.strip():
            below = map(clean, value.strip().splitlines())
        case _:
            yield f"{_label(name)}: {clean(str(_word(_fact(document, name))))}"
            return
    yield f"{_label(name)}:"
    yield from (f"  {line}" if line else "" for line in below)


def _label(name: str) -> str:
    return NAMES.get(name) or name.removesuffix("_at").removesuffix("_s").replace("_", " ")


def _fact(row: Mapping[str, Any], name: str) -> object:
    """Return a fact of an answer as people read it: a time as one, seconds as a duration, dollars with $."""
    value = row.get(name)
    match value:
        case _ if name == "job" and value is None:
            return f"{row['repository']}#{row['number']}" if row["number"] else row.get("card") or "draft"
        case _ if name in ("state", "status"):
            return state_word(str(value)) or value
        case str():
            return _time_of(value) or value
        case None:
            return value
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_describe_part(it) if isinstance(it, dict) else str(_word(it)) for it in value)
        case dict():
            unit, unnamed = name.partition(" ")[0], "not ended" if name == "endings" else "none"
            return ", ".join(
                f"{key.replace('_', ' ') or unnamed} {_fact({unit: it}, unit)}" for key, it in value.items()
            )
        case _ if "usd" in name.split("_"):
            return usd(value) + (AS_REPORTED if name == "usd" and row.get("cost_is_reported") else "")
    return _number(name, value)


def _number(name: str, value: float) -> str:
    if name.endswith("_s") or name == "seconds":
        return brief(timedelta(seconds=value))
    if name.startswith("hours_"):
        return brief(timedelta(hours=value))
    return str(value) if isinstance(value, int) else f"{value:g}"


def _time_of(text: str) -> datetime | None:
    """Return the time that a text is; None for any other, also one of outside that only looks like a time."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")) if TIME.fullmatch(text) else None
    except ValueError:
        return None


def _describe_part(part: Mapping[str, Any]) -> str:
    """Return a part of a fact: what it is called, and what is known of it."""
    first, *others = part.items()
    known = ", ".join(f"{_label(name)} {value}" for name, value in others if value is not None)
    return f"{first[1]} ({known})" if known else str(first[1])


def _width(console: "Console", grid: "Table") -> int:
    """Return how wide the table is where nothing is folded."""
    return console.measure(grid, options=console.options.update(max_width=UNBOUND)).maximum


def _grid(heads: Sequence[str], cells: Iterable[Sequence[str]], places: Sequence[int]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for position in places:
        grid.add_column(heads[position], overflow="fold", no_wrap=heads[position] not in PROSE)
    for row in cells:  # a Text is no markup, whatever stands in it
        grid.add_row(*(Text(row[position], style=COLOURS.get(row[position], "")) for position in places))
    return grid


def _draw(console: "Console", grid: "Table") -> list[str]:
    with console.capture() as captured:
        console.print(grid)
    return [row.rstrip() for row in captured.get().splitlines()]


def clean(text: str, most: int = 500) -> str:
    """Return outside text as one line that cannot move the cursor or turn the reading direction."""
    return plain(text, most)


def text_block(text: str) -> Iterable[str]:
    """Yield outside text line by line, each harmless and indented."""
    for row in text.splitlines():
        yield f"  {clean(row)}" if row.strip() else ""


def local_time(at: datetime | None) -> str:
    """Return a time to the second, in UTC."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago that was, or until then, with the time in UTC behind; the day where it is far."""
    if at is None:
        return ""
    past = now - at
    clock = f"{at:%H:%M} UTC" if abs(past) < timedelta(hours=20) else f"{at:%Y-%m-%d} UTC"
    if past <= -timedelta(seconds=1):
        return f"in {brief(-past)} ({clock})"
    return f"{brief(past)} ago ({clock})" if past >= timedelta(seconds=1) else f"just now ({clock})"


def _word(cell: object) -> str:
    if isinstance(cell, datetime):
        return ago(cell, datetime.now(UTC))
    return "" if cell is None else str(cell)


def _simple(value: object) -> object:
    """Return plain JSON values: dataclasses and named tuples by field, times as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _simple(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _simple(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_simple(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)
