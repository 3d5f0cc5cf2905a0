"""A timeline in fewer lines, the same on a card's page and in the terminal: steps in a row, commands said."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from ledger.events.run import ToolUsed
from ledger.ids import RunId
from ledger.queries.run_lines import RunLine
from ledger.queries.timeline import TimelineRow
from rules.text import count

# By a tool's name in small letters, as the agents call theirs.
_KINDS = {
    **dict.fromkeys(("run", "bash", "exec_command"), "run"),
    **dict.fromkeys(("edit", "multiedit", "write", "notebookedit", "apply_patch"), "edit"),
    "read": "read",
    **dict.fromkeys(("glob", "grep", "list"), "search"),
    "commit": "commit",
}
_PATCH = "apply_patch"  # its summary names all files of the patch
_OTHER, _SUBAGENT = "other", "subagent: "
# Before and after the number, in the order of the line; files are counted once each.
_WORDS = {
    "run": ("ran", "command"),
    "edit": ("edited", "file"),
    "read": ("read", "file"),
    "search": ("searched", "time"),
    "commit": ("made", "commit"),
    _OTHER: ("took", "other step"),
}

Row = TypeVar("Row", TimelineRow, RunLine)


def without_echoes(rows: Iterable[TimelineRow]) -> Iterator[TimelineRow]:
    """Yield the lines, but no command that the comment before it says in the same words."""
    before = None
    for row in rows:
        if before is None or (before.kind, row.kind, row.text) != ("PersonSaid", "CommandGiven", before.text):
            yield row
        before = row


def fold_rows(rows: Sequence[Row]) -> Iterator[tuple[Row, Sequence[Row]]]:
    """Yield each line without steps, and steps in a row as one line with them, in the order of `rows`.

    Whatever is no step, or a step that failed, stays a line of its own and ends a fold; so does another run.
    """
    for run_id, group in groupby(rows, _run_of_step):
        lines = list(group)
        if run_id is None or len(lines) == 1:
            yield from ((row, ()) for row in lines)
        else:
            text = _text([row.step for row in lines if row.step is not None])
            yield replace(lines[0], text=text, step=None), lines


def kind_of_step(step: ToolUsed) -> str:
    """Return what a step did: run, edit, read, search, commit or other."""
    return _KINDS.get(step.tool.lower(), _OTHER)


def is_edit(step: ToolUsed) -> bool:
    """Whether a step changed files."""
    return step.ok and kind_of_step(step) == "edit"


def subjects_of(step: ToolUsed) -> list[str]:
    """Return what a step was about: the files of an edit."""
    about = step.summary.removeprefix(_SUBAGENT)
    return about.split(", ") if step.tool.lower() == _PATCH else [about]


def _run_of_step(row: TimelineRow | RunLine) -> RunId | None:
    return row.step.run_id if row.step is not None and row.step.ok else None


def _text(steps: Sequence[ToolUsed]) -> str:
    subjects = defaultdict[str, list[str]](list)
    for step in steps:
        subjects[kind_of_step(step)] += subjects_of(step)
    return " · ".join(_sum(kind, subjects[kind]) for kind in _WORDS if subjects[kind])


def _sum(kind: str, subjects: Sequence[str]) -> str:
    verb, noun = _WORDS[kind]
    return f"{verb} {count(len(set(subjects)) if noun == 'file' else len(subjects), noun)}"
