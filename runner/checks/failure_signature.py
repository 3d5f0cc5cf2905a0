"""What a failure looks like without what differs each time: clocks, places, counts. Pure."""

import hashlib
import json
import re
from collections.abc import Iterable

_LINE_CHARACTERS = 500
_LINES = 80  # of an output in which nothing is recognised: its end
# Terminal sequences: colours and cursor moves, titles and links, single letters.
_TERMINAL = re.compile(r"\x1b(?:\[[0-9;?:]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_=>c78])")
_NOISE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d[:.]\d\d[:.]\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b0x[0-9A-Fa-f]+\b"), "<address>"),
    (re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    # The folders are chance, the file in them is not.
    (
        re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|run/user|dev/shm)/(?:[^\s/:'\"()]+/)*"),
        "<temp>/",
    ),
    (re.compile(r"\btmp[.\w-]{4,}"), "<temp>"),
    (re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?)\b"), "<time>"),
    (re.compile(r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*(?![A-Za-z_\d])"), "#"),  # but those that belong to a name
    (re.compile(r"([=\-_.*~#·])\1{2,}"), r"\1"),  # rules are as wide as the terminal
)


def plain(line: str) -> str:
    """Return a line of output without colours and cursor moves, cut where nobody reads on."""
    shown = line.rsplit("\r", 1)[-1] if "\r" in line.rstrip("\r") else line  # a bar that was drawn over
    return _TERMINAL.sub("", shown[: 4 * _LINE_CHARACTERS])[:_LINE_CHARACTERS].rstrip()


def normal(line: str) -> str:
    """Return a line without what differs each time; digits stay where they belong to a name or a code."""
    for shape, stands_for in _NOISE:
        line = shape.sub(stands_for, line)
    return " ".join(line.split())


def signature(command: str, names: Iterable[str], errors: Iterable[str], lines: Iterable[str]) -> str:
    """Return the SHA-256 of a failure: of what failed and its errors, else of the end of what was said.

    Order counts for nothing: tests that run side by side fail in any.
    """
    known = sorted({normal(name) for name in names})
    said = {normal(error) for error in errors}
    if not known:
        last = [line for line in map(normal, lines) if line.strip("=-_.*~#· ")]
        said |= set(last[-_LINES:])
    return hashlib.sha256(json.dumps([command, known, sorted(said)]).encode()).hexdigest()
