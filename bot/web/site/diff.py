"""A patch of git as HTML: its files and their lines, escaped, cut to the size of a page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from bot.web.site.syntax import Colours
from rules.text import plain
from runner.git.commits import PATCHED_FILE, unquote_path
from runner.text.untrusted import without_invisible

MAX_FILES, MAX_LINES, MAX_LINE = 200, 400, 400  # of a page, of one file, characters of a line
MAX_BYTES, MAX_NAMES_BYTES = 75_000, 45_000  # of all files as HTML, and of what they take without lines
FILE_BYTES, TABLE_BYTES, LINE_BYTES = 180, 150, 90  # of one file's HTML, of its table's and of a line's
MAX_NAME = 200
_NAMED = re.compile(r"^(?:\+\+\+ |--- |rename to )(?P<name>.+?)\t?$", re.MULTILINE)
_HUNK = re.compile(r"@@ -(?P<old>\d{1,9})(?:,\d+)? \+(?P<new>\d{1,9})", re.ASCII)
_KINDS = {
    "new file": "new",
    "deleted file": "deleted",
    "rename from": "renamed",
    "Binary files": "binary",
    "old mode": "other rights",
}
_CLASSES = {"+": "add", "-": "del", "@": "hunk"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: `kind` is add, del, hunk or empty; `old` and `new` are its numbers there, 0 for none."""

    kind: str
    old: int
    new: int
    html: Markup

    @property
    def sign(self) -> str:
        """What git writes before the line."""
        return {"add": "+", "del": "-", "": " "}.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: its change, and the first of its `lines`; `omitted` of them follow."""

    name: str
    kind: str
    added: int
    removed: int
    lines: tuple[DiffLine, ...]
    omitted: int

    def has_lines(self, first: int, last: int, *, old: bool = False) -> bool:
        """Tell whether all lines of that range of the new file, or of the old one, are shown."""
        shown = {line.old if old else line.new for line in self.lines if line.kind != "hunk"}
        return 0 < first <= last and last - first < MAX_LINES and shown.issuperset(range(first, last + 1))

    def sides(self) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
        """Yield the lines side by side: the old one and the new one, None where there is none."""
        old, new = list[DiffLine](), list[DiffLine]()
        for line in self.lines:
            if line.kind in ("add", "del"):
                (new if line.kind == "add" else old).append(line)
                continue
            yield from _pairs(old, new)
            old, new = [], []
            yield line, line
        yield from _pairs(old, new)


@dataclass(frozen=True, slots=True)
class DiffView:
    """The files of a patch; `omitted` of them follow."""

    files: tuple[FileChange, ...]
    omitted: int


def parse_patch(patch: str) -> DiffView:
    """Return a patch as a page shows it; text before its first file, or that is no patch, is left out."""
    parts = PATCHED_FILE.split(patch)[1:]
    room, named = MAX_NAMES_BYTES, list[tuple[str, str]]()
    for part in parts[:MAX_FILES]:
        name = _name(part.partition("\n@@")[0])
        room -= FILE_BYTES + len(escape(name).encode())
        if room < 0:
            break
        named.append((part, name))
    room += MAX_BYTES - MAX_NAMES_BYTES
    return DiffView(tuple(_files(named, room)), len(parts) - len(named))


def _files(named: Iterable[tuple[str, str]], room: int) -> Iterator[FileChange]:
    colours = Colours()
    for part, name in named:
        head, _, body = part.partition("\n@@")
        lines = f"@@{body}".removesuffix("\n").split("\n") if body else []
        shown = list[DiffLine]()
        room -= TABLE_BYTES + len(escape(name).encode()) if lines else 0
        for line in _colour(name, lines[:MAX_LINES], colours) if room > 0 else ():
            # Side by side, a line that is in both files is there twice.
            room -= LINE_BYTES + len(line.html.encode()) * (2 if not line.kind else 1)
            if room < 0:
                break
            shown.append(line)
        kinds = [word for sign, word in _KINDS.items() if f"\n{sign} " in head]
        signs = [line[:1] for line in lines]
        counts = signs.count("+"), signs.count("-")
        yield FileChange(name, ", ".join(kinds), *counts, tuple(shown), len(lines) - len(shown))


def _colour(name: str, lines: Sequence[str], colours: Colours) -> list[DiffLine]:
    """Return the lines with their numbers; each side of a hunk gets its colours as a text of its own."""
    made, start = list[DiffLine](), 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or lines[end].startswith("@"):
            made += _hunk(name, lines[start:end], colours)
            start = end
    return made


def _hunk(name: str, lines: Sequence[str], colours: Colours) -> Iterator[DiffLine]:
    texts = [_fit(line if line[:1] in ("@", "\\") else line[1:]) for line in lines]
    new = [place for place, line in enumerate(lines) if line[:1] in ("+", " ", "")]
    gone = [place for place, line in enumerate(lines) if line[:1] == "-"]
    html = {place: escape(text) for place, text in enumerate(texts)}
    for places in (new, gone):
        html |= zip(places, colours.of_lines(name, [texts[place] for place in places]), strict=True)
    numbers = _HUNK.match(lines[0])
    old_at, new_at = (int(numbers["old"]), int(numbers["new"])) if numbers else (0, 0)
    for place, line in enumerate(lines):
        kind = "hunk" if line[:1] == "\\" else _CLASSES.get(line[:1], "")
        in_old, in_new = kind in ("", "del"), kind in ("", "add")
        yield DiffLine(kind, old_at * in_old, new_at * in_new, html[place])
        old_at, new_at = old_at + in_old, new_at + in_new


def _pairs(
    old: Sequence[DiffLine], new: Sequence[DiffLine]
) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    for place in range(max(len(old), len(new))):
        yield old[place] if place < len(old) else None, new[place] if place < len(new) else None


def _name(head: str) -> str:
    """Return the file's name, the new one where it has two."""
    names = [unquote_path(match["name"]) for match in _NAMED.finditer(head)]
    named = [name[2:] if name[:2] in ("a/", "b/") else name for name in names if name != "/dev/null"]
    first = head.partition("\n")[0]  # both names, which are the same where no line below has them
    return plain(named[-1] if named else unquote_path(first[: len(first) // 2]).removeprefix("a/"), MAX_NAME)


def _fit(text: str) -> str:
    shown = without_invisible(text.replace("\r", ""))
    return f"{shown[:MAX_LINE]}…" if len(shown) > MAX_LINE else shown
