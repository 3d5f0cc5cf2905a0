"""A patch of git as HTML: its files and their lines, escaped, cut to the size of a page."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

from rules.text import plain
from runner.git.commits import PATCHED_FILE, unquote_path
from runner.text.untrusted import without_invisible

MAX_FILES, MAX_LINES, MAX_LINE = 200, 400, 400  # of a page, of one file, characters of a line
MAX_BYTES, MAX_NAMES_BYTES = 85_000, 45_000  # of all files as HTML, and of what they take without lines
FILE_BYTES = 180  # of one file's HTML without its name and its lines
MAX_NAME = 200
_NAMED = re.compile(r"^(?:\+\+\+ |--- |rename to )(?P<name>.+?)\t?$", re.MULTILINE)
_KINDS = {
    "new file": "new",
    "deleted file": "deleted",
    "rename from": "renamed",
    "Binary files": "binary",
    "old mode": "other rights",
}
_CLASSES = {"+": "add", "-": "del", "@": "hunk"}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: its change, and the first of its `lines`; `omitted` of them follow."""

    name: str
    kind: str
    added: int
    removed: int
    lines: Markup
    omitted: int


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
    for part, name in named:
        head, _, body = part.partition("\n@@")
        lines = f"@@{body}".removesuffix("\n").split("\n") if body else []
        shown = list[Markup]()
        for line in lines[:MAX_LINES]:
            html = _line(line)
            room -= len(html.encode()) + 1
            if room < 0:
                break
            shown.append(html)
        kinds = [word for sign, word in _KINDS.items() if f"\n{sign} " in head]
        signs = [line[:1] for line in lines]
        counts = signs.count("+"), signs.count("-")
        yield FileChange(name, ", ".join(kinds), *counts, Markup("\n").join(shown), len(lines) - len(shown))


def _name(head: str) -> str:
    """Return the file's name, the new one where it has two."""
    names = [unquote_path(match["name"]) for match in _NAMED.finditer(head)]
    named = [name[2:] if name[:2] in ("a/", "b/") else name for name in names if name != "/dev/null"]
    first = head.partition("\n")[0]  # both names, which are the same where no line below has them
    return plain(named[-1] if named else unquote_path(first[: len(first) // 2]).removeprefix("a/"), MAX_NAME)


def _line(text: str) -> Markup:
    shown = without_invisible(text.replace("\r", ""))
    cut = f"{shown[:MAX_LINE]}…" if len(shown) > MAX_LINE else shown
    kind = _CLASSES.get(text[:1])
    return Markup('<span class="{}">{}</span>').format(kind, cut) if kind else Markup("{}").format(cut)
