"""Stages of a run: breadcrumbs, and each stage's cost and change."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.render.markdown.escape import line
from bot.render.run.folded_steps import is_edit, subjects_of
from bot.render.run.story import Story, minutes
from ledger.events.run import ToolUsed
from ledger.events.stage import FileTouched
from ledger.rows.runs import RunRow
from ledger.views.stages import StageRow
from rules.text import count, usd

_THOUSAND, _MILLION = 1_000, 1_000_000
_NAME_CHARS = 40


def stage_names(run: RunRow) -> tuple[str, ...]:
    """Return the stages of the run's column in their order; none for a column without stages."""
    stages = json.loads(run.settings or "{}").get("stages") or ()
    return tuple(line(str(stage["name"]), _NAME_CHARS) for stage in stages)


def has_column_checks(run: RunRow) -> bool:
    """Tell whether the run's column has checks of its own, for work without a repository."""
    return bool(json.loads(run.settings or "{}").get("checks"))


def crumbs(story: Story, *, done: bool, reached: bool) -> list[str]:
    """Return a breadcrumb for each stage. `done`: the run is past them all; `reached`: it is among them now.

    A stage that the work went back beyond counts as not begun again.
    """
    path = _path(story.stages)
    going_on = next((row.stage for row in story.stages if row.left_at is None), "")
    here = going_on or (path[-1] if path else "")
    shown = []
    for name in stage_names(story.run):
        entered = sum(row.stage == name for row in story.stages)
        times = f" ×{entered}" if entered > 1 else ""
        numbers = _numbers([row for row in story.stages if row.stage == name])
        if not done and reached and name == here:
            shown.append(f"**{name} {'✗' if story.run.ending is not None else '●'}{times}**{numbers}")
        elif name in path and (done or name != here):
            shown.append(f"{name} ✓{times}{numbers}")
        else:
            shown.append(f"{name} ○{times}{numbers}")
    return shown


def personas(rows: Sequence[StageRow]) -> str:
    """Return by whom each stage that was entered was played, to be shown as code; empty without stages."""
    who = {row.stage: row.persona for row in rows}
    return ", ".join(f"{stage} by {persona}" for stage, persona in who.items())


def describe_usage(rows: Sequence[StageRow]) -> str:
    """Return cost and change of these entries together."""
    parts = (
        usd(sum(row.usd for row in rows)),
        f"{_short(sum(row.input_tokens + row.output_tokens for row in rows))} tokens",
        minutes(sum(row.seconds for row in rows)),
        _diff(rows),
    )
    return " · ".join(part for part in parts if part)


def list_touched(row: StageRow, steps: Iterable[tuple[datetime, ToolUsed]]) -> tuple[FileTouched, ...]:
    """Return the files that an entry changed: by git once it is left, else those that its agent edited."""
    if row.touched or (row.left_at is not None and not row.files_changed):
        return row.touched
    until = row.left_at or datetime.max.replace(tzinfo=row.entered_at.tzinfo)
    edits = (step for at, step in steps if row.entered_at <= at <= until and is_edit(step))
    names = dict.fromkeys(name for step in edits for name in subjects_of(step))
    return tuple(FileTouched(name) for name in names)


def describe_touched(file: FileTouched) -> str:
    """Return a file with its lines, where they are known."""
    return file.path if file.added is None else f"{file.path} +{file.added} −{file.removed}"


def _numbers(rows: Sequence[StageRow]) -> str:
    """Return the numbers behind a breadcrumb, short for a phone: tokens, dollars, time, lines."""
    tokens, spent = sum(row.input_tokens + row.output_tokens for row in rows), sum(row.usd for row in rows)
    seconds = sum(row.seconds for row in rows)
    added = sum(row.lines_added for row in rows)
    parts = (
        _short(tokens) if tokens else "",
        usd(spent) if spent else "",
        minutes(seconds) if seconds else "",
        f"+{added} −{sum(row.lines_changed for row in rows) - added}"
        if any(row.lines_changed for row in rows)
        else "",
    )
    said = " · ".join(part for part in parts if part)
    return f" {said}" if said else ""


def _path(rows: tuple[StageRow, ...]) -> list[str]:
    """Return the way to the newest entry, or to the one that waits to begin, without the circles."""
    path: list[str] = []
    waits = (rows[-1].target,) if rows and rows[-1].left_at is not None and rows[-1].target else ()
    for name in (*(row.stage for row in rows), *waits):
        if name in path:
            del path[path.index(name) :]
        path.append(name)
    return path


def _diff(rows: Sequence[StageRow]) -> str:
    lines = sum(row.lines_changed for row in rows)
    if not lines and not any(row.files_changed for row in rows):
        return "" if rows[-1].left_at is None else "no changes"
    files = max(row.files_changed for row in rows)
    several = sum(row.files_changed > 0 for row in rows) > 1
    return f"{'up to ' if several else ''}{count(files, 'file')}, {count(lines, 'line')} changed"


def _short(number: int) -> str:
    """Return a number as people say it: 950, 1.2k, 12k, 4.1M."""
    if number < _THOUSAND:
        return str(number)
    if number < _MILLION:
        return f"{number / _THOUSAND:.{1 if number < 10 * _THOUSAND else 0}f}k"
    return f"{number / _MILLION:.1f}M"
