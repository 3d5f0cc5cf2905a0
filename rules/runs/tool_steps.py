"""Steps of an agent with its own tools: those in a row that went well are summed up in one line."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ledger.events.run import ToolUsed
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


@dataclass(frozen=True, slots=True)
class StepFold:
    """The lines from `first` to before `end` as one: `ran 14 commands · edited 3 files`."""

    first: int
    end: int
    text: str


def step_folds(lines: Sequence[ToolUsed | None]) -> Iterator[StepFold]:
    """Yield the folds of a timeline; of its lines only steps are given.

    Whatever is no step, or a step that failed, stays a line of its own and ends a fold; so does another run.
    """
    place = 0
    for run_id, group in groupby(lines, lambda step: step.run_id if step is not None and step.ok else None):
        steps = list(group)
        if run_id is not None and len(steps) > 1:
            yield StepFold(place, place + len(steps), _text([step for step in steps if step is not None]))
        place += len(steps)


def _text(steps: Sequence[ToolUsed]) -> str:
    subjects = defaultdict[str, list[str]](list)
    for step in steps:
        tool, about = step.tool.lower(), step.summary.removeprefix(_SUBAGENT)
        subjects[_KINDS.get(tool, _OTHER)] += about.split(", ") if tool == _PATCH else [about]
    return " · ".join(_sum(kind, subjects[kind]) for kind in _WORDS if subjects[kind])


def _sum(kind: str, subjects: Sequence[str]) -> str:
    verb, noun = _WORDS[kind]
    return f"{verb} {count(len(set(subjects)) if noun == 'file' else len(subjects), noun)}"
