"""Finding a line of a file in a unified diff."""

import re

HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.MULTILINE)


def hunk_at(patch: str, line: int | None, side: str) -> str | None:
    """Return the hunk up to and with `line` on `side` (LEFT is before, RIGHT after); `None` outside the diff.

    Without a line the first hunk's head is returned. Source: the `diff_hunk` of
    docs.github.com/rest/pulls/comments ends at the line that the comment is about.
    """
    if line is None:
        return patch.split("\n", 1)[0] if patch else None
    starts = list(HUNK.finditer(patch))
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(patch)
        found = _cut(patch[match.start() : end].rstrip("\n"), line, side, int(match[1]), int(match[2]))
        if found is not None:
            return found
    return None


def place_at(patch: str, position: int) -> tuple[int, str] | None:
    """Return line and side of what is `position` lines below the first hunk's head; `None` if no line is.

    Heads of further hunks count, too. Source: `position` of docs.github.com/rest/pulls/reviews.
    """
    lines = patch.rstrip("\n").split("\n")
    if not 0 < position < len(lines):
        return None
    old = new = 0
    for text in lines[: position + 1]:
        head = HUNK.match(text)
        if head is not None:
            old, new = int(head[1]) - 1, int(head[2]) - 1
        old += text[:1] in {"-", " ", ""}
        new += text[:1] in {"+", " ", ""}
    if lines[position][:1] in {"@", "\\"}:
        return None
    return (old, "LEFT") if lines[position].startswith("-") else (new, "RIGHT")


def _cut(hunk: str, line: int, side: str, old: int, new: int) -> str | None:
    lines = hunk.split("\n")
    for position, text in enumerate(lines[1:], start=1):
        mark = text[:1]
        here = old if side == "LEFT" else new
        shown = mark != ("+" if side == "LEFT" else "-") and mark != "\\"
        if shown and here == line:
            return "\n".join(lines[: position + 1])
        old += mark in {"-", " ", ""}
        new += mark in {"+", " ", ""}
    return None
