"""Checkboxes with hidden names: how a person presses a button in a comment."""

import re
from collections import Counter

_BOX = re.compile(
    r"^[ \t]{0,3}[-*] \[(?P<tick>[ xX])\] [^\n]{0,1000}"
    r"<!-- box:(?P<name>[A-Za-z0-9_:-]{1,100}) -->[ \t]*\r?$",
    re.MULTILINE,
)


def box(name: str, label: str, *, ticked: bool = False) -> str:
    """Return a checkbox line; `name` is a command, or `choice:<question>:<number>`."""
    return f"- [{'x' if ticked else ' '}] {label} <!-- box:{name} -->"


def newly_ticked(before: str, after: str) -> tuple[str, ...]:
    """Return the names of the boxes that `after` has ticked and `before` has not, in order, each once."""
    old = _find_ticked(before)
    return tuple(Counter(_find_ticked(after)) - Counter(old))  # a quoted box of that name hides no real one


def untick(body: str) -> str:
    """Return `body` without the ticks in its boxes."""
    return _BOX.sub(lambda match: match[0].replace(f"[{match['tick']}]", "[ ]", 1), body)


def _find_ticked(body: str) -> list[str]:
    return [match["name"] for match in _BOX.finditer(body) if match["tick"] != " "]
