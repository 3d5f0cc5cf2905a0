"""Unified diffs, line by line, and the search for a line in them."""

import re
from dataclasses import dataclass
from enum import StrEnum

HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.MULTILINE)


class Mark(StrEnum):
    """Kind of a line of a diff."""

    HUNK = "hunk"
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    NOTE = "note"  # git's own: no newline at the end of the file


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff with its number before and after; `None` where it is not in the file."""

    mark: Mark
    old: int | None
    new: int | None
    text: str

    @property
    def side(self) -> str:
        """Return the side that a comment on this line belongs to, in GitHub's terms."""
        return "LEFT" if self.mark is Mark.REMOVED else "RIGHT"

    @property
    def number(self) -> int | None:
        return self.old if self.mark is Mark.REMOVED else self.new


def lines_of(patch: str) -> list[Line]:
    """Return the lines of a unified diff's hunks, one for each line of the text."""
    lines: list[Line] = []
    old = new = 0
    for text in patch.split("\n") if patch else []:
        hunk = HUNK.match(text)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            lines.append(Line(Mark.HUNK, None, None, text))
            continue
        marks = {"+": Mark.ADDED, "-": Mark.REMOVED, "\\": Mark.NOTE}
        mark = marks.get(text[:1], Mark.SAME)
        before, after = mark in (Mark.SAME, Mark.REMOVED), mark in (Mark.SAME, Mark.ADDED)
        lines.append(Line(mark, old if before else None, new if after else None, text[1:]))
        old, new = old + before, new + after
    return lines


def hunk_at(patch: str, line: int | None, side: str) -> str | None:
    """Return the hunk up to and with `line` on `side` (LEFT is before, RIGHT after); `None` outside the diff.

    Without a line the first hunk's head is returned. Source: the `diff_hunk` of
    docs.github.com/rest/pulls/comments ends at the line that the comment is about.
    """
    if line is None:
        return patch.split("\n", 1)[0] if patch else None
    start = 0
    for position, row in enumerate(lines_of(patch)):
        if row.mark is Mark.HUNK:
            start = position
        elif (row.old if side == "LEFT" else row.new) == line:
            return "\n".join(patch.split("\n")[start : position + 1])
    return None


def place_at(patch: str, position: int) -> tuple[int, str] | None:
    """Return number and side of the line `position` lines below the first hunk's head; `None` without one.

    Heads of further hunks count, too. Source: `position` of docs.github.com/rest/pulls/reviews.
    """
    lines = lines_of(patch.rstrip("\n"))
    if not 0 < position < len(lines):
        return None
    number = lines[position].number
    return None if number is None else (number, lines[position].side)
